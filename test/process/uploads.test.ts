import assert from 'node:assert/strict'
import { readdir, readFile, utimes } from 'node:fs/promises'
import { request } from 'node:http'
import path from 'node:path'
import { platform } from 'node:process'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { makeFolder, serve, type RunningService } from '../fixtures/process.ts'

test('Uploads: after a kill in the middle of an upload there is no file, and what is left of it is swept', async (t) => {
  const folder = await makeFolder(t)
  const artifacts = path.join(folder, '.agent-core', 'artifacts')
  /** Paths of what is stored, without empty folders. */
  const stored = async () => {
    const entries = await readdir(artifacts, { recursive: true, withFileTypes: true }).catch(() => [])
    return entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => path.join(parentPath, name))
  }
  const until = async (isSo: (files: string[]) => boolean) => {
    while (!isSo(await stored())) await sleep(20)
  }

  const killed = await serve(t, folder)
  const key = (await readFile(path.join(folder, '.agent-core', 'admin.key'), 'utf8')).trim()
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'multipart/form-data; boundary=b', 'content-length': 5_000_000 }
  const upload = request(`${killed.url}/v1/files`, { method: 'POST', headers })
  upload.on('error', () => undefined)
  upload.write(`--b\r\ncontent-disposition: form-data; name="file"; filename="a.txt"\r\n\r\n${'x'.repeat(1_000_000)}`)
  await until(({ length }) => length === 1)
  killed.child.kill('SIGKILL')
  await killed.ended
  const left = await stored()
  assert.equal(left.length, 1)

  // Younger leftovers may belong to an upload of another process.
  const longAgo = new Date(Date.now() - 2 * 3_600_000)
  const folders = (await readdir(artifacts)).map((name) => path.join(artifacts, name))
  for (const file of [...left, ...folders]) await utimes(file, longAgo, longAgo)
  const restarted = await serve(t, folder)
  assert.deepEqual((await restarted.client.request('GET', '/v1/files')).body.data, [])
  await until(({ length }) => length === 0)
  await t.test('concurrent uploads take less memory than their files', { skip: platform !== 'linux' }, () => expectFrugal(restarted, key))
})

/** Uploads 320 MB. */
async function expectFrugal({ child, url }: RunningService, key: string): Promise<void> {
  const peakBytes = async () => {
    const status = await readFile(`/proc/${child.pid}/status`, 'utf8')
    return Number(/VmHWM:\s+(\d+) kB/.exec(status)![1]) * 1024
  }
  const before = await peakBytes()
  const file = new Blob([Buffer.alloc(40_000_000, 'x')])
  const upload = async () => {
    const body = new FormData()
    body.set('purpose', 'user_data')
    body.set('file', file, 'large.txt')
    const reply = await fetch(`${url}/v1/files`, { method: 'POST', headers: { authorization: `Bearer ${key}` }, body })
    assert.equal(reply.status, 200)
  }
  await Promise.all(Array.from({ length: 8 }, upload))
  const grownBytes = (await peakBytes()) - before
  assert.ok(grownBytes < 200_000_000, `${grownBytes} bytes`)
}
