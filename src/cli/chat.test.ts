import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import { startModelServer, type ModelScript } from '../../test/fixtures/model-server.ts'
import { runCommand } from './command.ts'
import { readSettings } from './prepare.ts'
import { start } from './start.ts'
import { createFolder, createTestTerminal, runIn } from './terminal-fixture.ts'

/** A folder whose agent is this scripted model. */
async function createAgent(t: TestContext, script: ModelScript) {
  const folder = await createFolder(t)
  const server = await startModelServer(script)
  t.after(() => server.close())
  await mkdir(path.join(folder, 'files'))
  const model = `{ provider: openai-compatible, model: m, base_url: "${server.url}" }`
  await writeFile(path.join(folder, 'agent.yaml'), `llms: { primary: ${model} }\ntools: [{ name: calculator }]\n`)
  return { folder, server }
}

test('a question is answered in the same process, and a session can be continued', async (t) => {
  const { folder, server } = await createAgent(t, [{ text: ['Hello', ' **you**.'] }, { text: 'Again.' }])
  const first = await runIn(folder, ['chat', '--session', 's-1', '--message', '/hi'])
  assert.deepEqual(first, { code: 0, out: 'Hello **you**.\n', err: '' })
  assert.deepEqual(await runIn(folder, ['chat', '--session', 's-1', '--message', 'And?']), { code: 0, out: 'Again.\n', err: '' })
  const toolMessages = server.requests[1]?.body.messages.filter(({ role }: { role: string }) => role !== 'system')
  assert.deepEqual(
    toolMessages.map(({ content }: { content: string }) => content),
    ['/hi', 'Hello **you**.', 'And?'],
  )
})

test('lines from a pipe are questions and commands of the same conversation', async (t) => {
  const { folder, server } = await createAgent(t, [{ text: 'One.' }, { text: 'Two.' }, { text: 'Three.' }])
  const { terminal, stdin, out, err } = createTestTerminal(folder)
  stdin.end('a\n\nb\n/new\nc\n/tools\n/quit\nnever\n')
  assert.equal(await runCommand(['chat'], terminal), 0)
  assert.match(out(), /^One\.\nTwo\.\nThree\.\ncalculator {2}ready {2}Calculates /)
  assert.match(err(), /^New session: [0-9a-f-]{36}\n$/)
  assert.deepEqual(
    server.requests.map(({ body }) => body.messages.filter(({ role }: { role: string }) => role === 'user').length),
    [1, 2, 1],
  )
})

test('a chat at a terminal shows the conversation starters, and says where the files of an answer are', async (t) => {
  const folder = await createFolder(t)
  const { terminal, stdin, out, err, saw } = createTestTerminal(folder, { isTTY: true, environment: { NO_COLOR: '1' } })
  const ended = runCommand(['chat', '--session', 's-1'], terminal)
  await saw('> ')
  assert.match(out(), /^Ask something\. .+\nFor example:\n {2}What were the total sales by region\?\n/)
  stdin.write('Write "Back at 3" to a file note.txt\r')
  await saw('Please answer yes or no.')
  stdin.write('yes\r')
  await saw('Saved ')
  stdin.end('/quit\r')
  assert.equal(await ended, 0)
  const created = `Created ${path.join(folder, 'agent.yaml')} and ${path.join(folder, 'files')}\n`
  assert.equal(err(), `${created}Saved .agent-core/chat-files/s-1/note.txt\n`)
  assert.equal(await readFile(path.join(folder, '.agent-core/chat-files/s-1/note.txt'), 'utf8'), 'Back at 3')
})

test('a failing model is reported in a line, and the command fails', async (t) => {
  const { folder } = await createAgent(t, { status: 400, body: { error: { message: 'no such model' } } })
  const { code, out, err } = await runIn(folder, ['chat', '--message', 'Hello?'])
  assert.deepEqual({ code, out }, { code: 1, out: '' })
  assert.match(err, /no such model/)
  assert.equal(err.trimEnd().split('\n').length, 1)
})

test('Ctrl-C cancels a running answer, and ends the chat at the prompt', async (t) => {
  const { folder, server } = await createAgent(t, [{ text: ['Begin', 'ning'], silentAfter: 2 }, { text: 'Well.' }])
  const { terminal, stdin, out, saw } = createTestTerminal(folder, { isTTY: true, environment: { NO_COLOR: '1' } })
  const ended = runCommand(['chat'], terminal)
  await saw('> ')
  stdin.write('Hello?\r')
  await saw('Begin')
  stdin.write('Aga')
  stdin.write('\u0003')
  await saw('Cancelled.')
  assert.equal(await server.requests[0]?.closedEarly, true)
  stdin.write('in?\r')
  await saw('Well.\n')
  await saw('> ')
  stdin.write('\u0003')
  assert.equal(await ended, 0)
  assert.match(out(), /Hello\?\r\nBegin/)
  // Text typed during the answer is kept for the next prompt.
  assert.equal(server.requests[1]?.body.messages.at(-1).content, 'Again?')
})

test('a stop signal during an answer cancels the answer and ends the chat', async (t) => {
  const { folder } = await createAgent(t, { text: ['Begin', 'ning'], silentAfter: 2 })
  const { terminal, stop, saw } = createTestTerminal(folder, { isTTY: true })
  const ended = runCommand(['chat', '--message', 'Hello?'], terminal)
  await saw('Begin')
  stop()
  await saw('Cancelled.')
  assert.equal(await ended, 1)
})

test('a running service is used with the given key', async (t) => {
  const { folder } = await createAgent(t, [{ text: 'Hello.' }])
  const { terminal } = createTestTerminal(folder)
  const settings = readSettings(terminal)
  const started = await start({ settings, terminal, version: '0', isQuiet: true })
  const { service, url } = started
  t.after(async () => {
    await service.close(0)
    started.release()
  })

  assert.deepEqual(await runIn(folder, ['chat', '--message', 'Hello?']), { code: 0, out: 'Hello.\n', err: '' })
  await writeFile(path.join(folder, 'my.key'), (await runIn(folder, ['keys', 'create', '--sub', 'ada'])).out)
  const otherFolder = await createFolder(t)
  const args = ['chat', '--url', url, '--message', 'Hello?']
  assert.deepEqual(await runIn(otherFolder, [...args, '--key', `@${folder}/my.key`]), { code: 0, out: 'Hello.\n', err: '' })
  const wrong = await runIn(otherFolder, [...args, '--key', 'x.y.z'])
  assert.deepEqual({ code: wrong.code, out: wrong.out }, { code: 1, out: '' })
  assert.match(wrong.err, /^JWT verification failed: .+ Pass a valid key with --key\.\n$/)
  assert.match((await runIn(folder, ['doctor'])).out, new RegExp(`in use by the service at ${url}$`, 'm'))
})

test('admin.key is never sent to the address of a service that has ended', async (t) => {
  const { folder } = await createAgent(t, [{ text: 'Hello.' }])
  let requestCount = 0
  const otherServer = createServer((_, response) => void response.end(`${++requestCount}`)).listen(0, '127.0.0.1')
  await once(otherServer, 'listening')
  t.after(() => void otherServer.close())
  const url = `http://127.0.0.1:${(otherServer.address() as AddressInfo).port}`
  await mkdir(path.join(folder, '.agent-core'))
  await writeFile(path.join(folder, '.agent-core', 'admin.key'), 'key')
  await writeFile(path.join(folder, '.agent-core', 'service.json'), JSON.stringify({ url }))
  const refused = await runIn(folder, ['chat', '--url', url, '--message', 'Hello?'])
  assert.deepEqual({ code: refused.code, out: refused.out }, { code: 2, out: '' })
  assert.match(refused.err, /^admin\.key goes only to .+--key.+\n$/)
  assert.equal((await runIn(folder, ['chat', '--message', 'Hello?'])).out, 'Hello.\n')
  assert.equal(requestCount, 0)
  await assert.rejects(readFile(path.join(folder, '.agent-core', 'service.json')), { code: 'ENOENT' })
})

test('wrong usage exits with status 2 and a line; admin.key is never sent to another service', async (t) => {
  const folder = await createFolder(t)
  const wrong = [
    ['--url', 'ftp://x'],
    ['--url', '127.0.0.1:8080'],
    ['--session', 'no spaces'],
    ['--key', '@none.key', '--url', 'http://127.0.0.1:1'],
    ['--url', 'http://127.0.0.1:1'],
    ['--url', 'https://agent.example', '--message', 'Hello?'],
  ]
  for (const args of wrong) {
    const { code, out, err } = await runIn(folder, ['chat', ...args])
    assert.deepEqual({ code, out, trimEndCount: err.trimEnd().split('\n').length }, { code: 2, out: '', trimEndCount: 1 }, args.join(' '))
  }
})

test('links from FILES_ROOT to the data directory or the configuration are refused', async (t) => {
  const { folder } = await createAgent(t, {})
  await symlink(folder, path.join(folder, 'link'))
  const { code, err } = await runIn(folder, ['serve'], { FILES_ROOT: 'link' })
  assert.equal(code, 2)
  assert.match(err, /^FILES_ROOT must .+ DATA_DIR .+\nFILES_ROOT must .+ AGENT_CONFIG .+\n$/)
})
