import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { makeFolder, serve } from '../fixtures/process.ts'
import { startService } from '../fixtures/service.ts'
import { callOf } from '../fixtures/tools.ts'

/** A module of the given name, with the given body. */
async function write(folder: string, name: string, execute: string, more = ''): Promise<void> {
  const text = `import { defineTool } from 'agent-core'

export default defineTool({
  description: 'Tells of the weather.',
  schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  ${more}
  async execute({ city }: { city: string }, context) {
    ${execute}
  },
})
`
  await writeFile(path.join(folder, name), text)
}

/** A service whose model calls the tool for each question, and answers with the result. */
async function start(t: TestContext, execute: string, { more = '', entry = {} }: { more?: string; entry?: object } = {}) {
  const folder = await makeFolder(t)
  await write(folder, 'weather.ts', execute, more)
  const service = await startService(t, {
    config: {
      tools: [{ name: 'weather', type: 'module', config: { path: path.join(folder, 'weather.ts') }, ...entry }, { name: 'calculator' }],
    },
    script: ({ body }) => {
      const last = body.messages.at(-1)
      if (last.role === 'tool') return { text: `It says ${last.content}` }
      return last.content.startsWith('Calculate') ? { text: 'Four.' } : callOf('weather', { city: last.content })
    },
  })
  const listed = async () => {
    const { body } = await service.client.request('GET', '/core/v1/tools')
    return body.tools.find(({ name }: { name: string }) => name === 'weather') as { status: string; description: string }
  }
  return { ...service, folder, listed }
}

test('a chat uses a module whose file is edited, broken and repaired while the service runs', { timeout: 30_000 }, async (t) => {
  const { client, folder, listed } = await start(t, 'return `sun in ${city}`')
  assert.equal((await client.chat('Rome')).body.body.output, 'It says sun in Rome')
  assert.deepEqual(await listed(), {
    name: 'weather',
    description: 'Tells of the weather.',
    status: 'ready',
    ...{ effect: 'write', trust: 'trusted', private: false, outbound: false },
    schema: ((await listed()) as any).schema,
  })

  await write(folder, 'weather.ts', 'return `rain in ${city}`')
  let output = ''
  while (output !== 'It says rain in Rome') output = (await client.chat('Rome')).body.body.output

  await write(folder, 'weather.ts', 'return `rain in ${city`')
  while ((await listed()).status !== 'error') await wait(20)
  assert.match((await listed()).description, /weather\.ts:8: Unterminated template/)
  const refused = await client.request('POST', '/core/v1/tool/execute', { body: { tool_name: 'weather', tool_input: { city: 'Rome' } } })
  assert.deepEqual({ status: refused.status, error_type: refused.body.details.error_type }, { status: 503, error_type: 'ToolNotReady' })

  await write(folder, 'weather.ts', 'return `snow in ${city}`')
  while ((await listed()).status !== 'ready') await wait(20)
  assert.equal((await client.chat('Rome')).body.body.output, 'It says snow in Rome')
})

test('a module creates files, writes to the log of its step, and gets the headers of the caller', async (t) => {
  const execute = `context.log('asks the station'); await context.artifact('map.svg', 'image/svg+xml', '<svg/>'); return context.headers`
  const { client } = await start(t, execute)
  const { body } = await client.chat('Rome', { 'stix-desk': '7', 'session-id': 's' })
  assert.equal(body.body.output, 'It says {"stix-desk":"7"}')
  const [step] = body.body.intermediate_steps
  assert.deepEqual(
    { tool: step.tool, status: step.status, log: step.log },
    { tool: 'weather', status: 'success', log: 'asks the station\nDone.' },
  )
  const [artifact] = (await client.session('s')).body.messages[1].response_metadata.generated_artifacts
  assert.deepEqual(
    { file_name: artifact.file_name, file_type: artifact.file_type, artifactCount: artifact.size, tool: artifact.tool },
    { file_name: 'map.svg', file_type: 'image/svg+xml', artifactCount: 6, tool: 'weather' },
  )
})

test('a module is given the session id of its caller, in a chat and in a direct execution', async (t) => {
  const { client } = await start(t, 'return { session: context.session }')
  const headers = { 'session-id': 'c-20943' }
  assert.equal((await client.chat('Rome', headers)).body.body.output, 'It says {"session":"c-20943"}')
  const body = { tool_name: 'weather', tool_input: { city: 'Rome' } }
  const execute = (more: Record<string, string>) => client.request('POST', '/core/v1/tool/execute', { body, headers: more })
  assert.deepEqual((await execute(headers)).body.output, { session: 'c-20943' })
  const named = await execute({})
  assert.equal(named.body.output.session, named.headers.get('session-id'))
})

test(
  'a module with filters gets them; for another module a hint is refused, even after its file has changed',
  { timeout: 30_000 },
  async (t) => {
    const { client, folder } = await start(t, 'return context.filters', { more: "filters: true, effect: 'read'," })
    const hint = { tool_name: 'weather', filter_key: 'region', filter_type: 'equals', filter_value: 'North' }
    const ask = () => client.chat({ messages: [{ role: 'user', content: 'Rome' }], data_filter_hints: [hint] })
    assert.equal((await ask()).body.body.output, 'It says [{"key":"region","type":"equals","value":"North"}]')
    await write(folder, 'weather.ts', 'return context.filters')
    let reply = await ask()
    while (reply.status === 200) {
      assert.match(reply.body.body.output, /"North"|was changed during this run/)
      reply = await ask()
    }
    assert.equal(reply.status, 422)
    assert.match(reply.text, /the tool weather does not support data filters/)
  },
)

test('an endless loop in a module ends with its timeout and does not block others', { timeout: 30_000 }, async (t) => {
  const { client } = await start(t, `while (city === 'Rome');\n    return 'sun'`, { entry: { timeout: 4 } })
  const stuck = client.chat('Rome')
  await wait(200)
  const started = performance.now()
  for (let n = 0; n < 10; n++) assert.equal((await client.chat('Calculate 2 + 2')).body.body.output, 'Four.')
  assert.ok(performance.now() - started < 3500, 'ten chats are answered while the module loops')
  const { output } = (await stuck).body.body
  assert.match(output, /weather did not finish within 4 s/)
  // Calls that wait behind the loop fail with the reason; then a new process starts.
  let again = ''
  while (again !== 'It says sun') again = (await client.chat('Paris')).body.body.output
})

test('a looping module ends when the service is killed', { timeout: 30_000 }, async (t) => {
  const folder = await makeFolder(t)
  await write(folder, 'weather.ts', `(await import('node:fs')).writeFileSync('pid', String(process.pid)); for (;;);`)
  await writeFile(path.join(folder, 'agent.yaml'), 'tools:\n  - { name: weather, type: module, config: { path: weather.ts } }\n')
  const service = await serve(t, folder)
  const stuck = service.client.request('POST', '/core/v1/tool/execute', { body: { tool_name: 'weather', tool_input: { city: 'Rome' } } })
  stuck.catch(() => undefined)
  let pid = 0
  while (!pid) {
    await wait(20)
    pid = Number(await readFile(path.join(folder, 'pid'), 'utf8').catch(() => 0))
  }
  assert.ok(isThere(pid))
  service.child.kill('SIGKILL')
  while (isThere(pid)) await wait(20)
})

function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
