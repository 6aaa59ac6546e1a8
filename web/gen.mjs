// Makes src/gen from ../proto: the same contract that the services are built from.
import { execFileSync } from 'node:child_process'
import { globSync, mkdirSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

process.chdir(fileURLToPath(new URL('.', import.meta.url)))
rmSync('src/gen', { recursive: true, force: true })
mkdirSync('src/gen', { recursive: true })
const protos = globSync('kndl/**/*.proto', { cwd: '../proto' })
execFileSync(
  'protoc',
  [
    '-I', '../proto',
    '--plugin=protoc-gen-es=node_modules/.bin/protoc-gen-es',
    '--es_out=src/gen',
    '--es_opt=target=ts',
    ...protos,
  ],
  { stdio: 'inherit' },
)
