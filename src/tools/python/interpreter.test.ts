import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, readlink, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import process from 'node:process'
import { test } from 'node:test'
import { testAnswers, testCacheDir } from './fixture.ts'
import { createStarter } from './interpreter.ts'

test('a temporary disk error does not disable the isolation by the system', async (t) => {
  const folder = await mkdtemp(path.join(tmpdir(), 'starter-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const cacheDir = path.join(folder, 'cache')
  await writeFile(cacheDir, 'no folder')
  const start = createStarter(256, cacheDir, testAnswers)
  await assert.rejects(start(), { code: 'EEXIST' })
  await rm(cacheDir)
  await mkdir(testCacheDir, { recursive: true })
  await symlink(testCacheDir, cacheDir)
  const interpreter = await start()
  t.after(() => interpreter.end())
  const pid = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,args='], { encoding: 'utf8' })
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .find(([, parent, ...args]) => parent === String(process.pid) && args.some((arg) => arg.includes('tools/python/child')))?.[0]
  if (process.platform !== 'linux' || pid === undefined || !canIsolate()) return t.skip('not on this system')
  assert.notEqual(await readlink(`/proc/${pid}/ns/net`), await readlink('/proc/self/ns/net'))
})

function canIsolate(): boolean {
  try {
    execFileSync('unshare', ['-Un', 'true'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
