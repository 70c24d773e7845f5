import assert from 'node:assert/strict'
import { globSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))
const patterns = ['*.md', 'client/*.md', 'deploy/*.md', 'docs/**/*.md', 'examples/{*,*/*}.md']

async function readProse(page: string): Promise<string> {
  const text = await readFile(path.join(root, page), 'utf8')
  return text.replace(/^(```+)[^]*?^\1$/gm, '')
}

/** Ids of headings, as GitHub and the pages under `/docs/` make them. */
async function listIds(page: string): Promise<string[]> {
  const headings = [...(await readProse(page)).matchAll(/^#+ (.*)$/gm)].map(([, text]) => text!)
  return headings.map((text) =>
    text
      .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replace(/[^\p{L}\p{N}_ -]/gu, '')
      .replaceAll(' ', '-'),
  )
}

async function isThere(page: string, target: string): Promise<boolean> {
  const [file, id] = target.split('#') as [string, string]
  return (await listIds(file === '' ? page : path.join(path.dirname(page), file))).includes(id)
}

test('every heading that a page links to exists', async () => {
  const missing: string[] = []
  for (const page of globSync(patterns, { cwd: root }))
    for (const [, target] of (await readProse(page)).matchAll(/\]\(([^):]*\.md#[^)]+|#[^)]+)\)/g))
      if (!(await isThere(page, target!))) missing.push(`${page}: ${target}`)
  assert.deepEqual(missing, [])
})
