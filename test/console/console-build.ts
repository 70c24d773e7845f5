import { createHash } from 'node:crypto'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import path from 'node:path'
import { compressFiles } from '../../scripts/build/compress.ts'
import { builtHash, hashSources } from '../../scripts/build/source-hash.ts'

const root = path.join(import.meta.dirname, '../..')
const cache = path.join(root, 'node_modules/.cache/console')

/** Builds the console from the current sources, unless `dist/` or an earlier test has a build of them. Returns the folder of the build. */
export async function buildConsole(): Promise<string> {
  if (builtHash(root) === hashSources(root)) return path.join(root, 'dist/console')
  const folder = path.join(cache, hashConsole())
  if (existsSync(folder)) return folder
  await mkdir(cache, { recursive: true })
  const draft = await mkdtemp(path.join(cache, 'draft-'))
  // Imported on demand: the bundler takes half a second to load.
  const { build } = await import('vite')
  await build({ root: path.join(root, 'console'), logLevel: 'warn', build: { outDir: draft, emptyOutDir: true } })
  await compressFiles(draft)
  // Test files run at the same time: the first build stays.
  await rename(draft, folder).catch(() => rm(draft, { recursive: true, force: true }))
  return folder
}

function hashConsole(): string {
  const hash = createHash('sha256')
  const names = globSync(['console/**/*', 'client/src/**/*', 'package.json', 'package-lock.json'], { cwd: root, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => path.join(parentPath, name))
  for (const name of names.toSorted()) hash.update(name).update('\n').update(readFileSync(name))
  return hash.digest('hex').slice(0, 24)
}
