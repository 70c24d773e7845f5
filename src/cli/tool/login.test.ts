import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import { openEventsIn } from '../../../test/fixtures/audit-events.ts'
import { startAuthorizationServer, startProtectedMcpServer, type AuthorizationServer } from '../../../test/fixtures/authorization-server.ts'
import { serverKey } from '../../configuration/mcp/pin-store.ts'
import { openLogins } from '../../service/logins.ts'
import { openDatabase } from '../../store/open.ts'
import { runCommand } from '../command.ts'
import { createFolder, createTestTerminal, runIn } from '../terminal-fixture.ts'

const environment = { OUTBOUND_ALLOW: '127.0.0.1' }

async function start(t: TestContext, config: object = {}) {
  const authorization = await startAuthorizationServer()
  t.after(() => authorization.close())
  const server = await startProtectedMcpServer(authorization)
  t.after(() => server.close())
  const folder = await createFolder(t)
  const tools = [
    { name: 'weather', type: 'mcp', config: { url: server.url, ...config } },
    { name: 'local', type: 'mcp', config: { command: 'true' } },
    { name: 'keyed', type: 'mcp', config: { url: server.url, headers: { Authorization: 'Bearer x' } } },
  ]
  await configure(folder, tools)
  return { authorization, server, folder }
}

function configure(folder: string, tools: object[]): Promise<void> {
  const primary = { provider: 'openai-compatible', model: 'm', base_url: 'http://127.0.0.1:1' }
  return writeFile(path.join(folder, 'agent.yaml'), JSON.stringify({ llms: { primary }, tools }))
}

/** Runs the command up to the address of the login, and calls `browse` with the address. */
async function logIn(folder: string, browse: (address: string, paste: (text: string) => void) => Promise<unknown>, args: string[] = []) {
  const { terminal, saw, out, err, stdin } = createTestTerminal(folder, { environment })
  const running = runCommand(['tool', 'login', 'weather', ...args], terminal)
  await Promise.race([saw('/authorize?'), running])
  const [address = ''] = out().split('\n')
  if (address !== '') await browse(address, (text) => stdin.write(`${text}\n`))
  return { code: await running, out: out(), err: err() }
}

async function storedLogin(t: TestContext, folder: string, url: string) {
  const settings = { databaseUrl: undefined, databaseConnections: 1, dataDir: path.join(folder, '.agent-core'), secretKeys: [] }
  const database = await openDatabase(settings)
  t.after(() => database.close())
  const rows = await database.all.read.execute('select * from secrets', [])
  const key = { entry: 'weather', server: serverKey({ url }) }
  return { text: JSON.stringify(rows), stored: await openLogins(database, settings).find(key) }
}

function agreeing(authorization: AuthorizationServer) {
  return (address: string) => authorization.agree(address)
}

test('a person logs in in a browser, and the tokens are stored encrypted', async (t) => {
  const { authorization, server, folder } = await start(t)
  const { code, out, err } = await logIn(folder, agreeing(authorization))
  assert.equal(code, 0, err)
  const address = new URL(out.split('\n')[0] ?? '')
  assert.equal(address.origin, authorization.url)
  assert.match(address.searchParams.get('redirect_uri') ?? '', /^http:\/\/127\.0\.0\.1:\d+\/callback$/)
  assert.deepEqual([address.searchParams.get('resource'), address.searchParams.get('scope')], [server.url, 'tools.read'])
  assert.match(out, /\nLogged in at 127\.0\.0\.1:\d+ \(tools\.read\)\. Running replicas use the login within 5 s\.\n$/)
  assert.equal(authorization.registrations[0]?.['token_endpoint_auth_method'], 'none')
  assert.equal(authorization.tokenRequests[0]?.get('resource'), server.url)
  const { text, stored } = await storedLogin(t, folder, server.url)
  assert.ok(stored)
  assert.match(`${stored.login.accessToken} ${stored.login.refreshToken}`, /^access-\S+ refresh-/)
  assert.doesNotMatch(text, /access-|refresh-/)
  assert.ok(authorization.isValid(`Bearer ${stored.login.accessToken}`, server.url))
  assert.ok((await readFile(path.join(folder, '.agent-core/login-secret'), 'utf8')).length > 40)

  const loggedOut = await runIn(folder, ['tool', 'logout', 'weather'], environment)
  assert.deepEqual({ code: loggedOut.code, err: loggedOut.err }, { code: 0, err: '' })
  assert.match(loggedOut.out, /^Logged out at 127\.0\.0\.1:\d+\. Its tokens are revoked\.\n$/)
  assert.equal(authorization.isValid(`Bearer ${stored.login.accessToken}`, server.url), false)
  assert.match((await runIn(folder, ['tool', 'logout', 'weather'], environment)).err, /There is no login for weather\./)
  const events = await (await openEventsIn(t, folder))()
  const data = { server: serverKey({ url: server.url }) }
  assert.deepEqual(
    events.map(({ tenant, action, target, actor: { via }, data }) => [tenant, action, target, via, data]),
    ['tool.signed_in', 'tool.signed_out'].map((action) => ['default', action, 'tool:weather', 'cli', data]),
  )
})

test('a pasted address takes the place of a browser on this machine', async (t) => {
  const { authorization, folder } = await start(t)
  const { code, err } = await logIn(folder, async (address, paste) => {
    const { headers } = await fetch(address, { redirect: 'manual' })
    paste('not an address')
    paste(headers.get('location') ?? '')
  })
  assert.equal(code, 0, err)
  assert.equal(authorization.tokenRequests.length, 1)
})

test('an answer with another state ends nothing; a refusal ends the login without a token', async (t) => {
  const { authorization, folder } = await start(t)
  const redirectOf = (address: string) => new URL(new URL(address).searchParams.get('redirect_uri') ?? '')
  const disturbed = await logIn(folder, async (address, paste) => {
    const target = redirectOf(address)
    for (const search of ['?code=stolen&state=other', '?error=access_denied', '?error=access_denied&state=other']) {
      target.search = search
      const answer = await fetch(target)
      assert.deepEqual(
        [answer.status, await answer.text()],
        [400, 'The answer belongs to another login. Use the address that this command has shown.\n'],
      )
    }
    paste(target.href)
    await authorization.agree(address)
  })
  assert.deepEqual([disturbed.code, authorization.tokenRequests.length], [0, 1], disturbed.err)
  assert.match(disturbed.err, /The answer belongs to another login\./)
  const refused = await logIn(folder, async (address) => {
    const target = redirectOf(address)
    const state = new URL(address).searchParams.get('state') ?? ''
    target.search = new URLSearchParams({ error: 'access_denied', error_description: 'No.\u0007', state }).toString()
    await fetch(target)
  })
  assert.match(refused.err, /The authorization server refused the login: access_denied, No\. ?\n/)
})

test('a configured client is used, with its secret only at the configured issuer', async (t) => {
  const own = { login: { client_id: 'configured', client_secret: 'hidden-secret', scope: 'wide' } }
  const { authorization, server, folder } = await start(t, own)
  const stopped = await logIn(folder, async () => undefined)
  assert.match(stopped.err, new RegExp(`another origin; if it is right, set login\\.issuer to ${authorization.url}`))
  assert.equal(authorization.tokenRequests.length, 0)
  const tools = [{ name: 'weather', type: 'mcp', config: { url: server.url, login: { ...own.login, issuer: authorization.url } } }]
  await configure(folder, tools)
  const { code, out, err } = await logIn(folder, agreeing(authorization))
  assert.deepEqual([code, authorization.registrations.length], [0, 0], err)
  assert.equal(new URL(out.split('\n')[0] ?? '').searchParams.get('scope'), 'wide')
  assert.match(out, /\(wide\)/)
})

test('a client id metadata document is used where the server supports it', async (t) => {
  const { authorization, folder } = await start(t, { login: { client_metadata_url: 'https://agent.example/client.json' } })
  authorization.metadata = { client_id_metadata_document_supported: true }
  const { code, err } = await logIn(folder, agreeing(authorization))
  assert.deepEqual([code, authorization.registrations.length], [0, 0], err)
  assert.equal(authorization.tokenRequests[0]?.get('client_id'), 'https://agent.example/client.json')
})

test('entries that cannot have a login are refused with the reason', async (t) => {
  const { folder, server } = await start(t)
  const failure = async (...args: string[]) => (await runIn(folder, ['tool', ...args], environment)).err
  assert.match(await failure('login', 'nothing'), /no entry "nothing" of type mcp\. It has: weather, local, keyed\./)
  assert.match(await failure('login', 'local'), /starts a command; only a server at a url has a login/)
  assert.match(await failure('login', 'keyed'), /has credentials\. Remove oauth or the header authorization/)
  assert.match(await failure('login', 'weather', '--port', 'x'), /--port must be a whole number/)
  const { err } = await runIn(folder, ['tool', 'login', 'weather'], {})
  assert.match(err, /The address is not public\. Set OUTBOUND_ALLOW for this command and for the service\./)
  await server.close()
  assert.match(await failure('login', 'weather'), /The login at 127\.0\.0\.1:\d+ failed: .*ECONNREFUSED/)
})
