import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { before, test } from 'node:test'
import { promisify } from 'node:util'
import { parse } from 'yaml'
import { packageRoot } from '../package-root.ts'
import { settingNames } from '../../test/repository/setting-names.ts'
import { createFolder, runIn } from './terminal-fixture.ts'

// `init` packs this program, and a package holds the build.
before(() => promisify(execFile)(process.execPath, [path.join(packageRoot, 'scripts/build/run.ts'), '--if-changed']))

const { version } = JSON.parse(await readFile(path.join(packageRoot, 'package.json'), 'utf8')) as { version: string }
const tarball = `agent-core-${version}.tgz`

async function readText(folder: string, name: string): Promise<string> {
  return readFile(path.join(folder, name), 'utf8')
}

test('a new project is complete and valid, and names nothing of this machine', async (t) => {
  const parent = await createFolder(t)
  const { code, out, err } = await runIn(parent, ['init', 'Shop Support'])
  assert.deepEqual({ code, err }, { code: 0, err: '' })
  const folder = path.join(parent, 'Shop Support')
  const names = (await readdir(folder)).toSorted()
  const expected = [
    '.dockerignore',
    '.env',
    '.gitignore',
    'Dockerfile',
    'README.md',
    tarball,
    'agent.yaml',
    'compose.yaml',
    'files',
    'package.json',
  ]
  assert.deepEqual(names, [...expected, 'tools'])
  for (const name of names) assert.ok(out.includes(name), `${name} is explained`)
  assert.match(out, /^Packing Agent Core [\d.]+, which takes some seconds \.\.\.\nCreating in .+:\n {2}agent\.yaml +the agent/)
  assert.match(out, /\nNext, with Node\.js 24 or later:\n {2}cd 'Shop Support'\n {2}npm install\n {2}npm start\n/)

  const texts = [...expected.filter((name) => ![tarball, 'files'].includes(name)), 'tools/tsconfig.json', 'tools/due_date.ts']
  for (const name of texts) assert.ok(!(await readText(folder, name)).includes(parent), `${name} names no folder of this machine`)
  const { name, dependencies } = JSON.parse(await readText(folder, 'package.json')) as { name: string; dependencies: object }
  assert.deepEqual({ name, dependencies }, { name: 'shop-support', dependencies: { 'agent-core': `file:${tarball}` } })
  assert.equal((await runIn(folder, ['config', 'check'])).code, 0)
  const { containment } = parse(await readText(folder, 'agent.yaml')) as { containment: object }
  assert.deepEqual(containment, { after_untrusted: 'approve', outbound: 'approve' })
  const called = await runIn(folder, ['tool', 'check', 'tools/due_date.ts', '--input', '{"date":"2026-12-01","working_days":10}'])
  assert.match(called.out, /"due_date": "2026-12-15"/)
  await checkCompose(folder)
})

/** compose.yaml sets only settings of the service, .env has each password, and the image gets what it copies. */
async function checkCompose(folder: string): Promise<void> {
  const { services, volumes } = parse(await readText(folder, 'compose.yaml')) as { services: Record<string, any>; volumes: object }
  const settings = settingNames()
  const { environment, volumes: mounts, build } = services['agent-core']
  assert.equal(build, '.')
  for (const [name, value] of Object.entries(environment)) assert.ok(settings.has(name) || value === null, name)
  for (const mount of mounts as string[]) {
    const [source = ''] = mount.split(':')
    if (source.startsWith('.')) await stat(path.join(folder, source))
    else assert.ok(Object.hasOwn(volumes, source), source)
  }
  const secrets = await readText(folder, '.env')
  const required = JSON.stringify(services).matchAll(/\$\{(\w+):\?/g)
  for (const [, name] of required) assert.match(secrets, new RegExp(`^${name}=[0-9a-f]{64}$`, 'm'))
  assert.equal((await stat(path.join(folder, '.env'))).mode & 0o777, 0o600)
  const copied = /^COPY (?!--from)(.+) \.\/$/m.exec(await readText(folder, 'Dockerfile'))![1]!.split(' ')
  const sent = await readText(folder, '.dockerignore')
  for (const name of copied) assert.ok(sent.includes(`!${name.replace('json*', 'json')}\n`), name)
}

test('existing files stay as they are, and an own agent is told how to use the tool', async (t) => {
  const folder = await createFolder(t)
  const ownFiles = {
    'agent.yaml': 'tools: []\n',
    'package.json': '{"dependencies":{"agent-core":"file:../x.tgz"}}',
    '.gitignore': 'mine\n',
  }
  for (const [name, text] of Object.entries(ownFiles)) await writeFile(path.join(folder, name), text)
  await mkdir(path.join(folder, 'files'))
  // npm is not needed, because the project has the package.
  await writeFile(path.join(folder, tarball), '')
  const { code, out } = await runIn(folder, ['init'])
  assert.equal(code, 0)
  assert.match(out, /\nLeft as they were: agent\.yaml, files, package\.json, agent-core-[\d.]+\.tgz, \.gitignore\n/)
  assert.match(out, /Add to \.gitignore, .+: \.env, \.agent-core\n/)
  assert.match(out, /add to "tools" in agent\.yaml:\n {2}- \{ name: due_date, .+\}\n/)
  // An image can only be built from a package in the folder.
  assert.match(out, /\nNext, with .+:\n {2}npm install \.\/agent-core-[\d.]+\.tgz\n {2}npx --no-install agent-core serve\n/)
  for (const [name, text] of Object.entries(ownFiles)) assert.equal(await readText(folder, name), text)
  assert.deepEqual(await readdir(path.join(folder, 'files')), [])
  const repeated = await runIn(folder, ['init'])
  assert.equal(repeated.code, 0)
  assert.match(repeated.out, /^Creating in .+:\n {2}nothing, because everything is there\nLeft as they were: /)
  const misnamed = await runIn(folder, ['init', 'package.json'])
  assert.deepEqual([misnamed.code, misnamed.err], [1, `${path.join(folder, 'package.json')} is a file. Name a folder, or a new one.\n`])
})

test('a broken package.json and links that lead nowhere stay as they are', async (t) => {
  const folder = await createFolder(t)
  await writeFile(path.join(folder, 'package.json'), '{ broken')
  await writeFile(path.join(folder, tarball), '')
  for (const name of ['files', '.env']) await symlink(path.join(folder, 'elsewhere', name), path.join(folder, name))
  const { code, out, err } = await runIn(folder, ['init'])
  assert.deepEqual({ code, err }, { code: 0, err: '' })
  assert.match(out, /\nLeft as they were: files, package\.json, [^,]+, \.env\n[^]*\n {2}npm install \.\//)
})
