import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import { publint } from 'publint'
import { packageRoot } from '../../src/package-root.ts'
import { serve } from '../fixtures/process.ts'
import { installInto, packCheckout } from './consumer.ts'

const run = promisify(execFile)

let folder = ''
let packed: { tarball: string; files: string[] }
let installOutput = ''

before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'agent-core-package-'))
  packed = await packCheckout(folder)
  installOutput = await installInto(folder, packed.tarball)
})
after(() => rm(folder, { recursive: true, force: true }))

test('the package holds the build and the samples, but no test and no source map', () => {
  const folders = new Set(packed.files.map((name) => name.split('/')[0]))
  assert.deepEqual(folders, new Set(['LICENSE', 'README.md', 'bin', 'client', 'dist', 'package.json', 'samples']))
  assert.deepEqual(
    packed.files.filter((name) => /\.(test|map)\b|(^|[-/])fixture\./.test(name)),
    [],
  )
  for (const name of ['client/README.md', 'dist/console/index.html', 'samples/project/gitignore'])
    assert.ok(packed.files.includes(name), name)
})

test('the package has at most 900 files, and needs at most 60 packages', async () => {
  assert.ok(packed.files.length <= 900, `${packed.files.length} files`)
  const { packages } = JSON.parse(await readFile(path.join(folder, 'package-lock.json'), 'utf8')) as { packages: object }
  const names = Object.keys(packages).filter((name) => existsSync(path.join(folder, name, 'package.json')))
  assert.ok(names.length <= 60, names.join('\n'))
})

test('the package has no fault that a checker of packages finds', async () => {
  const { buffer } = await readFile(packed.tarball)
  const { messages } = await publint({ pack: { tarball: buffer }, strict: true })
  assert.deepEqual(messages, [])
})

test('the installation prints no warning', () => {
  // npm removes a package that only packages of other systems need.
  assert.match(installOutput, /^added 1 package(, and removed 1 package)? in \S+$/)
})

const program = () => path.join(folder, 'node_modules/.bin/agent-core')

const chat = `import { createClient } from 'agent-core/client'
import { defineTool } from 'agent-core'

const client = createClient({ baseUrl: process.argv[2], accessKey: process.argv[3] })
const answer = await client.chat({ messages: [{ role: 'user', content: 'What is 17% of 2,340?' }] })
console.log(typeof defineTool, answer.body.output)
`

test('an installed project starts its agent, which answers with a tool of its own and to the client', async (t) => {
  const { stdout } = await run('npx', ['--no-install', 'agent-core', 'init'], {
    cwd: folder,
    env: { ...process.env, npm_config_offline: 'true' },
  })
  assert.match(stdout, /tools\/due_date\.ts/)
  const service = await serve(t, folder, {}, undefined, program())
  assert.match(service.stdout(), /sign in with: npx --no-install agent-core console\)/)
  // What is written for people is not mixed with the JSON of the log.
  assert.doesNotMatch(service.stdout(), /^\{/m)
  const { body } = await service.client.chat('What is the due date 10 working days after 2026-12-01?')
  assert.match(body.body.output, /2026-12-15/)

  await writeFile(path.join(folder, 'chat.mjs'), chat)
  const key = (await readFile(path.join(folder, '.agent-core/admin.key'), 'utf8')).trim()
  const { stdout: answer } = await run(process.execPath, ['chat.mjs', service.url, key], { cwd: folder })
  assert.match(answer, /^function .*397\.8/)
})

const consumer = `import { defineTool } from 'agent-core'
import { createClient, AgentCoreError, type ChatAnswer } from 'agent-core/client'

export default defineTool({
  description: 'Repeats a text.',
  schema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  execute({ text }, { signal }) {
    // @ts-expect-error a string is no number
    text.toFixed()
    return signal.aborted ? '' : text.toUpperCase()
  },
})

const client = createClient({ baseUrl: 'http://127.0.0.1:8080', accessKey: 'k' })
export async function ask(content: string): Promise<ChatAnswer> {
  // @ts-expect-error a message has a role
  await client.chat({ messages: [{ content }] })
  for await (const chunk of client.stream({ messages: [{ role: 'user', content }] })) chunk.token.trim()
  return client.chat({ messages: [{ role: 'user', content }] })
}
export const isRefused = (error: unknown) => error instanceof AgentCoreError && error.status === 403
`

test('the types of the package are correct for both ways in which TypeScript resolves modules', async () => {
  await writeFile(path.join(folder, 'consumer.ts'), consumer)
  const compiler = path.join(packageRoot, 'node_modules/typescript/bin/tsc')
  const options = ['--noEmit', '--strict', '--exactOptionalPropertyTypes', '--target', 'es2023', '--lib', 'es2024,dom']
  const resolutions = [
    ['--module', 'nodenext'],
    // The declarations themselves are checked once.
    ['--module', 'esnext', '--moduleResolution', 'bundler', '--skipLibCheck'],
  ]
  for (const resolution of resolutions) {
    const { stdout } = await run(process.execPath, [compiler, ...options, ...resolution, 'consumer.ts'], { cwd: folder }).catch(
      (error: { stdout: string }) => error,
    )
    assert.equal(stdout, '', resolution.join(' '))
  }
})

test('an older Node is told in one line which Node is needed', async (t) => {
  const older = await findOlderNode()
  if (older === undefined) return t.skip('No Node.js before 24 is on the PATH.')
  const { stdout, stderr, code } = await run(older, [program(), '--version'], { cwd: folder }).then(
    () => assert.fail('The command has not failed.'),
    (error: { stdout: string; stderr: string; code: number }) => error,
  )
  assert.equal(stdout, '')
  assert.match(stderr, /^agent-core needs Node\.js 24 or later, but this is v\d+\.\d+\.\d+\. Install a newer one[^\n]*\n$/)
  assert.equal(code, 1)
})

/** A Node before 24 on the path, as on the machine of a user who has not upgraded. */
async function findOlderNode(): Promise<string | undefined> {
  const folders = (process.env['PATH'] ?? '').split(path.delimiter).filter((name) => !name.includes('node_modules'))
  for (const name of folders) {
    const node = path.join(name, 'node')
    const version = await run(node, ['--version']).catch(() => undefined)
    if (version && Number(/\d+/.exec(version.stdout)![0]) < 24) return node
  }
  return undefined
}
