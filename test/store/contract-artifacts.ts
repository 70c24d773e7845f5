import assert from 'node:assert/strict'
import { createHash, randomUUID } from 'node:crypto'
import { buffer, text } from 'node:stream/consumers'
import { test } from 'node:test'
import type { ArtifactBytes, ArtifactFolder } from '../../src/artifacts/artifact-store.ts'

async function foldersOf(bytes: ArtifactBytes): Promise<ArtifactFolder[]> {
  const found: ArtifactFolder[] = []
  for await (const folder of bytes.folders()) found.push(folder)
  return found
}

async function textOf(bytes: ArtifactBytes, folder: string, id: string): Promise<string | undefined> {
  const content = await bytes.open({ folder, id })
  return content && text(content.read())
}

/** What every `ArtifactBytes` does, whatever keeps them. The store may hold what others left in it. */
export function testArtifactBytes(name: string, open: () => ArtifactBytes): void {
  const title = (sentence: string) => `artifacts on ${name}: ${sentence}`

  test(title('bytes are read back unchanged, whole or in part'), async () => {
    const bytes = open()
    const place = { folder: randomUUID(), id: randomUUID() }
    await bytes.put(place, Buffer.from('0123456789'))
    assert.equal(await bytes.has(place), true)
    const whole = await bytes.open(place)
    assert.equal(whole?.size, 10)
    assert.equal(await text(whole.read()), '0123456789')
    const part = await bytes.open(place)
    assert.equal(await text(part!.read({ start: 2, end: 4 })), '234')
    const unread = await bytes.open(place)
    await unread!.close()
    await bytes.deleteAll(place.folder)
  })

  test(title('an empty file is stored, and storing it again keeps one file'), async () => {
    const bytes = open()
    const place = { folder: randomUUID(), id: randomUUID() }
    await bytes.put(place, Buffer.from('x'))
    await bytes.put(place, Buffer.alloc(0))
    const empty = await bytes.open(place)
    assert.equal(empty?.size, 0)
    assert.equal(await text(empty.read()), '')
    await bytes.deleteAll(place.folder)
  })

  test(title('a large file, uploaded in parts, is read back unchanged'), async () => {
    const bytes = open()
    const place = { folder: randomUUID(), id: randomUUID() }
    const large = Buffer.allocUnsafe(20 * 1024 * 1024 + 1)
    for (let at = 0; at < large.length; at += 4) large.writeInt32LE(at, Math.min(at, large.length - 4))
    await bytes.put(place, large)
    const content = await bytes.open(place)
    assert.equal(content?.size, large.length)
    const read = await buffer(content.read())
    assert.equal(createHash('sha256').update(read).digest('hex'), createHash('sha256').update(large).digest('hex'))
    const from = 8 * 1024 * 1024 - 2
    assert.deepEqual(await buffer((await bytes.open(place))!.read({ start: from, end: from + 3 })), large.subarray(from, from + 4))
    await bytes.deleteAll(place.folder)
  })

  test(title('a file that arrives in chunks is stored whole, or not at all'), async () => {
    const bytes = open()
    const folder = randomUUID()
    async function* arriving(chunks: number, fault?: Error) {
      for (let n = 0; n < chunks; n++) yield Buffer.alloc(700_001, n)
      if (fault) throw fault
    }
    for (const [n, chunks] of [0, 1, 12, 24, 30].entries()) {
      await bytes.put({ folder, id: `a${n}` }, arriving(chunks))
      const read = await buffer((await bytes.open({ folder, id: `a${n}` }))!.read())
      assert.deepEqual([read.length, read.at(-1)], [chunks * 700_001, chunks === 0 ? undefined : chunks - 1])
    }
    for (const chunks of [0, 1, 30]) {
      await assert.rejects(bytes.put({ folder, id: 'broken' }, arriving(chunks, new Error('gone'))), /gone/)
      assert.equal(await bytes.has({ folder, id: 'broken' }), false)
    }
    await bytes.deleteAll(folder)
  })

  test(title('a reader that stops early leaves nothing open'), async () => {
    const bytes = open()
    const place = { folder: randomUUID(), id: randomUUID() }
    await bytes.put(place, Buffer.alloc(4 * 1024 * 1024, 'x'))
    for (let n = 0; n < 60; n++) {
      const reading = (await bytes.open(place))!.read()
      for await (const chunk of reading) {
        assert.ok((chunk as Buffer).length > 0)
        break
      }
      assert.equal(reading.destroyed, true)
    }
    assert.equal((await textOf(bytes, place.folder, place.id))?.length, 4 * 1024 * 1024)
    await bytes.deleteAll(place.folder)
  })

  test(title('a missing file is reported as missing'), async () => {
    const bytes = open()
    const [folder, other, id] = [randomUUID(), randomUUID(), randomUUID()]
    assert.equal(await bytes.open({ folder, id }), undefined)
    assert.equal(await bytes.has({ folder, id }), false)
    await bytes.copyAll(folder, other)
    await bytes.deleteAll(folder)
    const found = await foldersOf(bytes)
    assert.deepEqual(
      found.filter(({ name }) => name === folder || name === other),
      [],
    )
  })

  test(title('files of a copied folder outlive the original, and are copied once'), async () => {
    const bytes = open()
    const [from, to] = [randomUUID(), randomUUID()]
    const ids = Array.from({ length: 9 }, () => randomUUID())
    for (const id of ids) await bytes.put({ folder: from, id }, Buffer.from(id))
    await bytes.copyAll(from, to)
    await bytes.copyAll(from, to)
    await bytes.deleteAll(from)
    for (const id of ids) {
      assert.equal(await bytes.has({ folder: from, id }), false)
      assert.equal(await textOf(bytes, to, id), id)
    }
    await bytes.deleteAll(to)
    assert.equal(await bytes.has({ folder: to, id: ids[0]! }), false)
  })

  test(title('folders are listed once, each with the time of its last file'), async () => {
    const bytes = open()
    const before = Date.now() - 10_000
    const names: string[] = Array.from({ length: 5 }, () => randomUUID())
    for (const folder of names) for (let n = 0; n < 3; n++) await bytes.put({ folder, id: randomUUID() }, Buffer.from('x'))
    const found = (await foldersOf(bytes)).filter(({ name }) => names.includes(name))
    assert.deepEqual(found.map(({ name }) => name).sort(), names.toSorted())
    for (const { changedAt } of found) assert.ok(changedAt > before && changedAt <= Date.now() + 10_000)
    // While they are listed.
    for await (const { name } of bytes.folders()) if (names.includes(name)) await bytes.deleteAll(name)
    assert.deepEqual(
      (await foldersOf(bytes)).filter(({ name }) => names.includes(name)),
      [],
    )
  })

  test(title('folders with a common name prefix are kept apart'), async () => {
    const bytes = open()
    const one = randomUUID()
    await bytes.put({ folder: one, id: 'a1' }, Buffer.from('one'))
    await bytes.put({ folder: `${one}-2`, id: 'a1' }, Buffer.from('two'))
    await bytes.deleteAll(one)
    assert.equal(await textOf(bytes, one, 'a1'), undefined)
    assert.equal(await textOf(bytes, `${one}-2`, 'a1'), 'two')
    await bytes.deleteAll(`${one}-2`)
  })

  test(title('no name leads out of the store'), async () => {
    const bytes = open()
    for (const name of ['..', '../s1', 'a/b', '', '.a1', 'a\0', 'ä', '*']) {
      await assert.rejects(bytes.open({ folder: 's1', id: name }), /is not a valid/, name)
      await assert.rejects(bytes.put({ folder: name, id: 'a1' }, Buffer.from('x')), /is not a valid/, name)
      await assert.rejects(bytes.deleteAll(name), /is not a valid/, name)
      await assert.rejects(bytes.copyAll(name, 's2'), /is not a valid/, name)
    }
    await bytes.dropDrafts?.(0)
  })
}
