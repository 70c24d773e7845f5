import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { test } from 'node:test'
import { folder, pages } from './pages.ts'

for (const [name, generate] of Object.entries(pages)) {
  test(`docs/reference/${name} states what the code states`, async () => {
    const committed = await readFile(path.join(folder, name), 'utf8').catch(() => '')
    assert.doesNotMatch(committed, /\bundefined$/m, 'A schema has no description.')
    assert.ok(committed === (await generate()), `docs/reference/${name} is out of date. Run "npm run reference" and commit the result.`)
  })
}

test('docs/reference has the generated pages alone', async () => {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.md'))
  assert.deepEqual(names.toSorted(), Object.keys(pages).toSorted())
})
