import { memo } from 'react'
import { Streamdown } from 'streamdown'

// Markdown as it streams, to React elements alone: no HTML of the text's own, no images from
// elsewhere (they would tell a stranger who reads), links open apart.
export const Markdown = memo(function Markdown({ text, live = false }: { text: string; live?: boolean }) {
  return (
    <Streamdown
      className="prose-claude"
      mode={live ? 'streaming' : 'static'}
      parseIncompleteMarkdown={live}
      skipHtml
      controls={false}
      components={{
        a: ({ href, children }) => (
          <a href={href} target="_blank" rel="noreferrer noopener">
            {children}
          </a>
        ),
        img: ({ alt, src }) => <span>[{alt === '' || alt === undefined ? 'image' : alt}: {String(src)}]</span>,
        code: ({ children, className }) => <code className={className}>{children}</code>,
        pre: ({ children }) => <pre>{children}</pre>,
        table: ({ children }) => <table>{children}</table>,
        thead: ({ children }) => <thead>{children}</thead>,
        tr: ({ children }) => <tr>{children}</tr>,
        th: ({ children }) => <th>{children}</th>,
        td: ({ children }) => <td>{children}</td>,
      }}
    >
      {text}
    </Streamdown>
  )
})
