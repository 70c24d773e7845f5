import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import type { ArtifactBytes } from '../../src/artifacts/artifact-store.ts'

/** What the links of a store do that makes its own. */
export function testArtifactLinks(name: string, open: () => ArtifactBytes): void {
  const title = (sentence: string) => `links of ${name}: ${sentence}`

  test(title('a link delivers the file without a key, with its name, as an attachment'), async () => {
    const bytes = open()
    const place = { folder: randomUUID(), id: randomUUID() }
    await bytes.put(place, Buffer.from('0123456789'))
    const link = await bytes.link!(place, { name: 'Umsätze "1" – 売上.csv', type: 'text/csv' }, 900)
    const whole = await fetch(link)
    assert.equal(await whole.text(), '0123456789')
    assert.equal(whole.headers.get('content-type'), 'text/csv')
    assert.match(whole.headers.get('content-disposition')!, /^attachment; filename="?Ums.*; filename\*=UTF-8''Ums%C3%A4tze%20%221%22/)
    const part = await fetch(link, { headers: { range: 'bytes=2-4' } })
    assert.deepEqual(
      { status: part.status, 'content-range': part.headers.get('content-range'), text: await part.text() },
      { status: 206, 'content-range': 'bytes 2-4/10', text: '234' },
    )
    await bytes.deleteAll(place.folder)
    assert.equal((await fetch(link)).status, 404)
  })

  test(title('active content is served as plain bytes'), async () => {
    const bytes = open()
    const place = { folder: randomUUID(), id: randomUUID() }
    await bytes.put(place, Buffer.from('<script>alert(1)</script>'))
    for (const type of ['text/html', 'image/svg+xml', 'application/xhtml+xml', 'text/javascript', 'application/xml']) {
      const { headers } = await fetch(await bytes.link!(place, { name: 'page.html', type }, 900))
      assert.equal(headers.get('content-type'), 'application/octet-stream', type)
      assert.match(headers.get('content-disposition')!, /^attachment; filename="?page\.html/)
    }
    for (const type of ['image/png', 'text/plain', 'application/pdf', 'application/json']) {
      const { headers } = await fetch(await bytes.link!(place, { name: 'file', type }, 900))
      assert.equal(headers.get('content-type')?.split(';')[0], type)
    }
    await bytes.deleteAll(place.folder)
  })

  test(title('a changed or expired link is refused'), async () => {
    const bytes = open()
    const place = { folder: randomUUID(), id: randomUUID() }
    await bytes.put(place, Buffer.from('x'))
    const link = await bytes.link!(place, { name: 'a.txt', type: 'text/plain' }, 900)
    assert.equal(new URL(link).searchParams.get('X-Amz-Expires'), '900')
    for (const [field, value] of [
      ['X-Amz-Signature', '0'.repeat(64)],
      ['X-Amz-Expires', '86400'],
    ] as const) {
      const forged = new URL(link)
      forged.searchParams.set(field, value)
      const { status } = await fetch(forged)
      assert.ok(status === 403, `${field}: ${status}`)
    }
    const short = await bytes.link!(place, { name: 'a.txt', type: 'text/plain' }, 1)
    const until = Date.now() + 20_000
    let status = 200
    while (status === 200 && Date.now() < until) {
      await new Promise((resolve) => setTimeout(resolve, 250))
      status = (await fetch(short)).status
    }
    assert.equal(status, 403)
    await bytes.deleteAll(place.folder)
  })
}
