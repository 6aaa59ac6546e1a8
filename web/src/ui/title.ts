import { useEffect } from 'react'

// What the tab and the history call this page; without a title just kndl.
export function useTitle(title: string | undefined) {
  useEffect(() => {
    if (title === undefined) return
    document.title = `${title} · kndl`
    return () => {
      document.title = 'kndl'
    }
  }, [title])
}
