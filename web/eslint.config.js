import tseslint from 'typescript-eslint'

const features = ['auth', 'repos', 'secrets', 'sessions']

// app → features → ui, lib. No feature imports another, nothing imports upwards.
const layers = [
  { files: ['src/ui/**', 'src/lib/**'], forbidden: ['@/app/*', '@/features/*'] },
  ...features.map((name) => ({
    files: [`src/features/${name}/**`],
    forbidden: ['@/app/*', ...features.filter((other) => other !== name).map((other) => `@/features/${other}/*`)],
  })),
]

export default tseslint.config(
  { ignores: ['src/gen', 'dist'] },
  ...tseslint.configs.recommended,
  {
    rules: {
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_' }],
      'no-restricted-syntax': [
        'error',
        {
          selector: "JSXAttribute[name.name='dangerouslySetInnerHTML']",
          message: 'Trusted Types: nothing sets HTML from text',
        },
      ],
    },
  },
  ...layers.map(({ files, forbidden }) => ({
    files,
    rules: { 'no-restricted-imports': ['error', { patterns: forbidden }] },
  })),
)
