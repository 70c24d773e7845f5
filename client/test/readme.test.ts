import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { startService } from '../../test/fixtures/service.ts'

const readme = path.join(import.meta.dirname, '../README.md')
const source = pathToFileURL(path.join(import.meta.dirname, '../src/index.ts')).href

/** Standard output of each example: its order is the order of the page. */
const expected = [
  /^2 \+ 2 is \*\*4\*\*\.\n$/,
  /^3 \+ 3 is \*\*6\*\*\.\n(.+\n)+$/,
  /calculator success\n[\s\S]*\n\d+ characters\n$/,
  /\*\*4\*\*\.$/,
  /^2 \+ 2 is \*\*4\*\*\.\n$/,
  /clear\n[\s\S]*clear/,
  /^404 NotFound There is no run unknown\. [\w-]+\n$/,
  /^$/,
  /^.*calculator.*\n[\w-]+ \d\n$/,
]

test('README: each example runs as it stands', async (t) => {
  const calculator = { name: 'calculator', type: 'calculator' }
  const service = await startService(t, { config: { tools: [calculator] } })
  const careful = await startService(t, { config: { tools: [{ ...calculator, approval: 'required' }] } })
  const folder = await mkdtemp(path.join(tmpdir(), 'client-readme-'))
  t.after(() => rm(folder, { recursive: true }))
  const examples = [...(await readFile(readme, 'utf8')).matchAll(/^```ts\n(.*?)^```$/gms)].map(([, example]) => example!)
  assert.equal(examples.length, expected.length)
  for (const [index, example] of examples.entries()) {
    const { url, key } = example.includes('approval_required') ? careful : service
    const env = { ...process.env, AGENT_CORE_URL: url, AGENT_CORE_KEY: (await key()).key }
    const file = path.join(folder, `example-${index}.mts`)
    await writeFile(file, example.replaceAll("'@agent-core/client'", JSON.stringify(source)))
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [file], { env })
    assert.equal(stderr, '')
    assert.match(stdout, expected[index]!, example)
  }
})
