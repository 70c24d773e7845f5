import assert from 'node:assert/strict'
import { access, readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))
const folders = [
  '',
  'docs/decisions',
  'deploy',
  'bench',
  'proofs/chaos',
  'proofs/hostile',
  'proofs/disk-faults',
  'proofs/kills',
  'proofs/soak',
  'proofs/interleavings',
]
const pages = (await Promise.all(folders.map(listPages))).flat()

async function listPages(folder: string): Promise<string[]> {
  const names = await readdir(path.join(root, folder))
  return names.filter((name) => name.endsWith('.md')).map((name) => path.join(folder, name))
}

/** `a/{b,c}.ts` names `a/b.ts` and `a/c.ts`. */
function expandBraces(name: string): string[] {
  const [, before, names, after] = /^(.*)\{(.*)\}(.*)$/.exec(name) ?? []
  return names === undefined ? [name] : names.split(',').map((part) => `${before}${part}${after}`)
}

/** Source files between backticks. A name with a placeholder (`<what>`, `000N`, `*`) is an example. */
function namedFiles(text: string): string[] {
  const names = [...text.matchAll(/`([^`\s]+\.(?:ts|mjs|go|yaml|sh))`/g)].map(([, name]) => name!)
  return names.filter((name) => name.includes('/') && !/[<*]|000N/.test(name)).flatMap(expandBraces)
}

function linkedFiles(text: string): string[] {
  const targets = [...text.matchAll(/\]\(([^)#]+)[^)]*\)/g)].map(([, target]) => target!)
  return targets.filter((target) => !target.includes(':'))
}

async function exists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  )
}

/** Files that exist under none of the base folders. */
async function findMissing(files: readonly string[], bases: readonly string[]): Promise<string[]> {
  const found = await Promise.all(files.map((file) => Promise.all(bases.map((base) => exists(path.join(root, base, file))))))
  return files.filter((_, index) => !found[index]!.includes(true))
}

for (const page of pages) {
  test(`${page}: every source file that it names, and every page that it links to, exists`, async () => {
    const text = await readFile(path.join(root, page), 'utf8')
    const folder = path.dirname(page)
    assert.deepEqual(await findMissing(namedFiles(text), ['', 'src', folder]), [])
    assert.deepEqual(await findMissing(linkedFiles(text), [folder]), [])
  })
}
