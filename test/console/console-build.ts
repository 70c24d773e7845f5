import { createHash } from 'node:crypto'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import path from 'node:path'
import { build } from 'vite'
import { compressFiles } from '../../scripts/build/compress.ts'

const root = path.join(import.meta.dirname, '../..')
const cache = path.join(root, 'node_modules/.cache/console')

/** Builds the console from the current sources, unless a build of the same sources is there. Returns the folder of the build. */
export async function buildConsole(): Promise<string> {
  const folder = path.join(cache, hashSources())
  if (existsSync(folder)) return folder
  await mkdir(cache, { recursive: true })
  const draft = await mkdtemp(path.join(cache, 'draft-'))
  await build({ root: path.join(root, 'console'), logLevel: 'warn', build: { outDir: draft, emptyOutDir: true } })
  await compressFiles(draft)
  // Test files run at the same time: the first build stays.
  await rename(draft, folder).catch(() => rm(draft, { recursive: true, force: true }))
  return folder
}

function hashSources(): string {
  const hash = createHash('sha256')
  const names = globSync(['console/**/*', 'client/src/**/*', 'package-lock.json'], { cwd: root, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => path.join(parentPath, name))
  for (const name of names.toSorted()) hash.update(name).update('\n').update(readFileSync(name))
  return hash.digest('hex').slice(0, 24)
}
