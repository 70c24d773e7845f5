import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { compile, hasCompilers } from './compile.ts'
import { builtHash, hashFile, hashSources } from './source-hash.ts'

/**
 * Builds service, client and console into `dist/`. With `--if-changed`, only when `dist/` is missing or was built from other sources. The
 * build is made beside `dist/` and put in place at the end, so that a build that fails leaves the one before.
 */
const root = path.join(import.meta.dirname, '../..')
const dist = path.join(root, 'dist')

const { values } = parseArgs({ options: { 'if-changed': { type: 'boolean', default: false } } })
const hash = hashSources(root)
if (!values['if-changed'] || builtHash(root) !== hash) await build()

async function build(): Promise<void> {
  if (!hasCompilers(root)) return refuse()
  const startedAt = performance.now()
  const drafts = path.join(root, 'node_modules/.cache/build')
  await mkdir(drafts, { recursive: true })
  const draft = await mkdtemp(path.join(drafts, 'dist-'))
  try {
    await compile(root, path.join(draft, 'new'))
    await writeFile(path.join(draft, 'new', hashFile), hash)
    if (existsSync(dist)) await rename(dist, path.join(draft, 'old'))
    await rename(path.join(draft, 'new'), dist)
    console.log(`Built dist/ in ${((performance.now() - startedAt) / 1000).toFixed(1)} s.`)
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    process.exitCode = 1
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
}

/** An installation without development packages runs what was built for it. */
function refuse(): void {
  console.error('dist/ cannot be built: the development packages are not installed. Run "npm ci", then "npm run build".')
  process.exitCode = 1
}
