import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import type { TestContext } from 'node:test'
import { promisify } from 'node:util'
import { parse } from 'yaml'
import { installed, makeFolder, serve } from '../fixtures/process.ts'
import { startPostgres } from '../fixtures/postgres-server.ts'
import { startS3 } from '../fixtures/s3-server.ts'
import { copyExample, exampleTest, makeCheckout, runReadme } from './example.ts'

const root = path.join(import.meta.dirname, '../..')
const run = promisify(execFile)

// There is no Docker in CI: the parts of the file are run without containers.
exampleTest('compose: its environment starts the service on Postgres and S3, with the bucket of its own command', async (t) => {
  const folder = await copyExample(await makeCheckout(t), 'compose-postgres-s3', {})
  await runReadme(t, folder)
  const { services, volumes } = await readCompose(folder)
  assertClosed(services, volumes)

  const [postgres, s3] = await startServers(t)
  const databaseUrl = await postgres.createDatabase()
  const elsewhere = (text: string) => text.replaceAll(/http:\/\/(s3|localhost):7070/g, s3.url)
  const { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY } = s3.environment
  const keys = { AWS_ACCESS_KEY_ID: AWS_ACCESS_KEY_ID!, AWS_SECRET_ACCESS_KEY: AWS_SECRET_ACCESS_KEY! }
  await assertHealthy(t, services['database']!, databaseUrl)
  const { command, entrypoint } = services['bucket']!
  const makeBucket = () => run(process.execPath, [...entrypoint!.slice(1), elsewhere(command![0]!)], { cwd: root, env: keys })
  await makeBucket()
  await makeBucket()

  const { environment } = services['agent-core']!
  assert.match(environment!['DATABASE_URL']!, /^postgres:\/\/postgres:[0-9a-f]{64}@database:5432\/agent_core$/)
  const settings = Object.entries(environment!).filter((entry): entry is [string, string] => entry[1] !== null)
  const { client } = await serve(
    t,
    await makeFolder(t),
    {
      ...Object.fromEntries(settings.map(([name, value]) => [name, elsewhere(value).replace(/^\/agent\//, `${folder}/agent/`)])),
      DATABASE_URL: databaseUrl,
      ...keys,
    },
    undefined,
    installed,
  )
  const { body } = await client.chat('When is the office open?')
  assert.match(body.body.output, /from 8 to 18/)
  await client.chat('Write "Back at 3" to a file note.txt', { 'session-id': 'note' })
  await client.chat('yes', { 'session-id': 'note' })
  const link = await client.request('GET', '/core/v1/download_artifact/3/0', { headers: { 'session-id': 'note' } })
  const url = link.body.body.download_url as string
  assert.ok(url.startsWith(`${s3.url}/agent-core/`), url)
  assert.equal(await (await fetch(url)).text(), 'Back at 3')
})

interface ComposeService {
  environment?: Record<string, string | null>
  command?: string[]
  entrypoint?: string[]
  ports?: string[]
  volumes?: string[]
  depends_on?: string[] | Record<string, object>
  healthcheck?: { test: string[] }
}

/** Reads compose.yaml with the variables of .env, as Compose does. */
async function readCompose(folder: string): Promise<{ services: Record<string, ComposeService>; volumes: Record<string, null> }> {
  const [text, env] = await Promise.all(['compose.yaml', '.env'].map((name) => readFile(path.join(folder, name), 'utf8')))
  const values = new Map([...env!.matchAll(/^(\w+)=(.+)$/gm)].map(([, name, value]) => [name!, value!]))
  const filled = text!.replaceAll(/\$\{(\w+):([?-])([^}]*)\}/g, (_, name: string, mode: string, otherwise: string) => {
    const value = values.get(name) ?? (mode === '-' ? otherwise : undefined)
    assert.ok(value, `.env has ${name}`)
    return value
  })
  return parse(filled)
}

/** Everything that a service names exists, and nothing listens on other addresses than loopback. */
function assertClosed(services: Record<string, ComposeService>, volumes: Record<string, null>): void {
  for (const [name, { ports = [], volumes: mounted = [], depends_on = [] }] of Object.entries(services)) {
    for (const port of ports) assert.match(port, /^127\.0\.0\.1:\d+:\d+$/, name)
    for (const volume of mounted) assert.ok(volume.startsWith('./') || Object.hasOwn(volumes, volume.split(':')[0]!), volume)
    for (const other of Array.isArray(depends_on) ? depends_on : Object.keys(depends_on)) assert.ok(other in services, other)
  }
}

async function startServers(t: TestContext) {
  const postgres = await startPostgres()
  t.after(() => postgres.stop())
  const s3 = await startS3()
  t.after(() => s3.close())
  return [postgres, s3] as const
}

/** Runs the health check against the database; skipped where its command is not installed. */
async function assertHealthy(t: TestContext, { healthcheck }: ComposeService, databaseUrl: string): Promise<void> {
  const { port } = new URL(databaseUrl)
  const [, command = '', ...args] = healthcheck!.test
  const { stdout } = await run(command, args, { env: { ...process.env, PGPORT: port } }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
    t.diagnostic(`${command} is not installed.`)
    return { stdout: 'accepting connections' }
  })
  assert.match(stdout, /accepting connections/)
}
