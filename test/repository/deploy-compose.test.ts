import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { access, copyFile, mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { parse } from 'yaml'
import { settingNames } from './setting-names.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../..', import.meta.url))
const deploy = path.join(root, 'deploy')
const compose = parse(await readFile(path.join(deploy, 'compose.yaml'), 'utf8'), { merge: true })
const services: [string, any][] = Object.entries(compose.services)

test('the service gets settings alone, and what agent.yaml may name', () => {
  const known = settingNames()
  const { environment } = compose.services['agent-core']
  for (const [name, value] of Object.entries(environment)) assert.ok(known.has(name) || value === null, name)
})

test('no secret has a value that is not made for this installation, and nothing is open to the network unless somebody says so', () => {
  for (const [name, { environment = {}, ports = [], volumes = [] }] of services) {
    for (const [variable, value] of Object.entries(environment)) {
      if (/PASSWORD|SECRET|DATABASE_URL|ACCESS_KEY/.test(variable)) assert.match(String(value), /\$\{\w+:\?/, `${name}: ${variable}`)
    }
    for (const port of ports) assert.match(port, /^\$\{\w+:-127\.0\.0\.1:\d+\}:\d+$/, name)
    for (const volume of volumes) assert.ok(Object.hasOwn(compose.volumes, volume.split(':')[0]), volume)
  }
})

test('the service is as hardened as its image lets it be, and is given its time to stop', () => {
  for (const name of ['agent-core', 'bucket']) {
    const { read_only, cap_drop, security_opt } = compose.services[name]
    assert.deepEqual(
      { read_only, cap_drop, security_opt },
      { read_only: true, cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] },
    )
  }
  assert.ok(Number.parseInt(compose.services['agent-core'].stop_grace_period) >= 45)
})

test('make-env.sh makes all that compose.yaml asks for, readable by its owner alone, and never twice', async (t) => {
  const folder = await mkdtemp(path.join(tmpdir(), 'agent-core-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  await copyFile(path.join(deploy, 'make-env.sh'), path.join(folder, 'make-env.sh'))
  const make = () => run('sh', [path.join(folder, 'make-env.sh')])
  await make()
  const text = await readFile(path.join(folder, '.env'), 'utf8')
  const made = new Map([...text.matchAll(/^(\w+)=(.+)$/gm)].map(([, name, value]) => [name!, value!]))
  const asked = JSON.stringify(compose).matchAll(/\$\{(\w+)/g)
  for (const [, name] of asked) assert.ok(made.has(name!), name)
  for (const name of ['POSTGRES_PASSWORD', 'SECRET_KEY', 'S3_SECRET_KEY']) assert.match(made.get(name)!, /^[0-9a-f]{64}$/)
  assert.equal((await stat(path.join(folder, '.env'))).mode & 0o777, 0o600)
  await assert.rejects(make(), /already exists/)
  assert.equal(await readFile(path.join(folder, '.env'), 'utf8'), text)
})

test('what the image copies is there, and is not kept from it', async () => {
  const dockerfile = await readFile(path.join(deploy, 'Dockerfile'), 'utf8')
  const kept = (await readFile(path.join(root, '.dockerignore'), 'utf8')).split('\n')
  const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, names]) => names!.split(' '))
  // The stage that builds copies everything that is kept.
  for (const source of ['src', 'demo-model', 'client', 'console', 'scripts/build', 'tsconfig.json'])
    assert.ok(kept.includes(`!${source}`), source)
  assert.ok(copied.includes('samples'))
  for (const name of copied.filter((source) => source !== '.')) {
    await access(path.join(root, name))
    assert.ok(kept.includes(`!${name}`), name)
  }
})
