import { createHash } from 'node:crypto'
import { existsSync, globSync, readFileSync } from 'node:fs'
import path from 'node:path'

/** Everything that the content of `dist` depends on. */
const sources = [
  'src/**/*.{ts,json,txt}',
  'demo-model/**/*.ts',
  'client/src/**/*',
  'console/**/*',
  'docs/**/*',
  'docs/.vitepress/**/*',
  'scripts/build/*',
  'tsconfig.json',
  'package.json',
  'package-lock.json',
]
const isOther = /(^|\/)node_modules(\/|$)|\.test\.tsx?$|(^|[-/])fixture\.ts$/

/** Name of the file in `dist` that holds the hash of its sources. */
export const hashFile = 'source-hash'

/** The hash of the sources that `dist` was built from; undefined without a build. */
export function builtHash(root: string): string | undefined {
  const file = path.join(root, 'dist', hashFile)
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined
}

/** SHA-256, in hex, over names and contents of the sources of a build. Takes about 60 ms. */
export function hashSources(root: string): string {
  const hash = createHash('sha256')
  const entries = globSync(sources, { cwd: root, withFileTypes: true, exclude: ({ name }) => name === 'node_modules' })
  const files = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => path.relative(root, path.join(parentPath, name)))
  for (const file of files.filter((name) => !isOther.test(name)).sort()) {
    const content = readFileSync(path.join(root, file))
    hash.update(`${file}\n${content.length}\n`).update(content)
  }
  return hash.digest('hex')
}

const programs = new Map<string, string>()

/** The file to start: the build of a checkout if its sources are unchanged, because the build starts in a quarter of the time; otherwise the sources. */
export function programOf(root: string): string {
  const known = programs.get(root)
  if (known !== undefined) return known
  const program = path.join(root, builtHash(root) === hashSources(root) ? 'bin/agent-core.mjs' : 'scripts/sources.mjs')
  programs.set(root, program)
  return program
}
