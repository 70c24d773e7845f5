import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Artifact, NewArtifact } from '../agent/messages.ts'
import type { ArtifactBytes } from './artifact-store.ts'
import { createKeeper } from './keep.ts'

function keeperOf({ earlier = [] as Artifact[], put = async () => {} }: { earlier?: Artifact[]; put?: ArtifactBytes['put'] } = {}) {
  const faults: unknown[] = []
  const bytes = { put } as ArtifactBytes
  const limits = { file: 10, files: 3, total: 20 }
  let ids = 0
  const deps = { bytes, now: () => 5, newId: () => `id${++ids}`, onFault: (error: unknown) => void faults.push(error) }
  return { keep: createKeeper({ folder: 's', limits, earlier }, deps), faults }
}

const fileOf = (size: number, name = 'a.txt'): NewArtifact => ({ name, type: '', bytes: new Uint8Array(size).fill(97), tool: 'write_file' })

test('a stored file has its safe name, type, size and hash', async () => {
  const { keep } = keeperOf()
  assert.deepEqual(await keep({ name: '../x/a.csv', type: '', bytes: Buffer.from('abc'), tool: 't' }), {
    id: 'id1',
    name: 'a.csv',
    type: 'text/csv',
    size: 3,
    sha256: 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
    tool: 't',
    createdAt: 5,
  })
  assert.equal((await keep({ ...fileOf(1), type: 'Image/PNG; q=1' })).type, 'image/png')
  assert.equal((await keep({ ...fileOf(1), type: 'text/html\r\nx: y' })).type, 'text/plain')
})

test('a file that is too large or one too many is refused with a reason', async () => {
  const { keep } = keeperOf()
  await assert.rejects(keep(fileOf(11)), { message: 'a.txt has 11 bytes; a file may have 10.' })
  await Promise.all([keep(fileOf(10)), keep(fileOf(10))])
  await assert.rejects(keep(fileOf(1)), /all files together may have 20 bytes/)
  await keep(fileOf(0))
  await assert.rejects(keep(fileOf(0)), /there are 3 files already/)
})

test('files from before a takeover count', async () => {
  const made = await keeperOf().keep(fileOf(10))
  const { keep } = keeperOf({ earlier: [made, made] })
  await assert.rejects(keep(fileOf(1)), /together/)
})

test('a full disk is reported, other errors are not, and neither counts', async () => {
  const failing = (code: string) => Promise.reject(Object.assign(new Error(`${code} /secret/place`), { code }))
  let code = 'ENOSPC'
  const { keep, faults } = keeperOf({ put: () => (code === '' ? Promise.resolve() : failing(code)) })
  await assert.rejects(keep(fileOf(10)), { message: 'a.txt could not be kept: there is no room left.' })
  code = 'EACCES'
  await assert.rejects(keep(fileOf(10)), { message: 'a.txt could not be kept: its folder cannot be written to.' })
  assert.equal(faults.length, 2)
  code = ''
  await keep(fileOf(10))
  await keep(fileOf(10))
})
