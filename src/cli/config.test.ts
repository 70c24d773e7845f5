import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'
import { createFolder, runIn } from './terminal-fixture.ts'

test('a right file is ok, and each problem of a wrong one is a line', async (t) => {
  const folder = await createFolder(t)
  const file = path.join(folder, 'agent.yaml')
  await writeFile(file, 'id: mine\n')
  assert.deepEqual(await runIn(folder, ['config', 'check']), { code: 0, out: `ok: ${file}\n`, err: '' })
  await writeFile(path.join(folder, 'other.yaml'), 'id: 3\nmemory: { recall: a }\n')
  const { code, out, err } = await runIn(folder, ['config', 'check', 'other.yaml'])
  assert.deepEqual([code, out], [1, ''])
  assert.match(err, /^other\.yaml:1 id: .+\nother\.yaml:2 memory\.recall: .+\n$/)
})

test('a variable that is not set is told by name, and is no fault of the file', async (t) => {
  const folder = await createFolder(t)
  await writeFile(path.join(folder, 'agent.yaml'), 'llms: { primary: { provider: openai, model: m, api_key: "${MY_KEY}" } }\n')
  const without = await runIn(folder, ['config', 'check'])
  assert.equal(without.code, 0)
  assert.match(without.out, /^note: .*llms\.primary: api_key: the environment variable MY_KEY is not set\nok: /)
  assert.match((await runIn(folder, ['config', 'check'], { MY_KEY: 'sk-1' })).out, /^ok: [^\n]+\n$/)
})

test('the configuration is shown with its defaults and without its secrets', async (t) => {
  const folder = await createFolder(t)
  const model = '{ provider: openai, model: m, api_key: sk-secret, headers: { x-team: hush, authorization: "Bearer ${TOKEN}" } }'
  await writeFile(path.join(folder, 'agent.yaml'), `name: Mine\nllms: { primary: ${model} }\n`)
  const { code, out } = await runIn(folder, ['config', 'show'])
  const shown = parse(out) as { name: string; max_iterations: number; llms: { primary: Record<string, unknown> } }
  assert.deepEqual([code, shown.name, shown.max_iterations], [0, 'Mine', 25])
  assert.deepEqual(shown.llms.primary['headers'], { 'x-team': '********', authorization: 'Bearer ${TOKEN}' })
  assert.equal(shown.llms.primary['api_key'], '********')
  assert.doesNotMatch(out, /sk-secret|hush/)
})

test('a file that is not there is a failure in one line', async (t) => {
  const folder = await createFolder(t)
  for (const args of [
    ['config', 'show'],
    ['config', 'check', 'none.yaml'],
  ]) {
    const { code, out, err } = await runIn(folder, args)
    assert.deepEqual([code, out], [1, ''])
    assert.match(err, /^\w+\.yaml: .+ does not exist\.\n$/)
  }
})
