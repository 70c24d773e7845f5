import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import type { ArtifactBytes } from './artifact-store.ts'
import { directFolderOf, sweepArtifacts } from './sweep.ts'

test('folders of deleted sessions, removed uploads and old direct executions are removed, young and foreign ones stay', async () => {
  const hour = 3_600_000
  const now = 100 * hour
  const many = Array.from({ length: 450 }, () => ({ name: randomUUID(), changedAt: 0 }))
  const [there, old] = [randomUUID(), directFolderOf(randomUUID())]
  const [upload, removedUpload] = [`upload-${randomUUID()}`, `upload-${randomUUID()}`]
  const folders = [
    { name: there, changedAt: 0 },
    { name: 'backups', changedAt: 0 },
    { name: upload, changedAt: 0 },
    { name: removedUpload, changedAt: 0 },
    { name: randomUUID(), changedAt: now - hour / 2 },
    { name: old, changedAt: now - 25 * hour },
    { name: directFolderOf(randomUUID()), changedAt: now - 23 * hour },
    ...many,
  ]
  const deleted: string[] = []
  const asked: number[] = []
  const bytes = {
    folders: () => Readable.from(folders),
    deleteAll: async (name) => void deleted.push(name),
  } as Partial<ArtifactBytes> as ArtifactBytes
  const existing = async (keys: readonly string[]) => {
    asked.push(keys.length)
    return new Set(keys.filter((key) => key === there || key === upload))
  }
  assert.equal(await sweepArtifacts({ bytes, existing, now: () => now }), 452)
  assert.deepEqual(deleted.sort(), [old, removedUpload, ...many.map(({ name }) => name)].sort())
  assert.ok(asked.every((count) => count <= 200))
})
