import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import sharp from 'sharp'
import { makeBomb, makeImage, svg, type ImageFormat } from '../../test/fixtures/make-images.ts'
import { createImages } from './images.ts'

const decoder = createImages()
const caller = { tenant: 'default', owner: 'agent-core ann' }
const images = {
  fromText: (content: string) => decoder.fromText(content, caller),
  fromFile: (absolutePath: string) => decoder.fromFile(absolutePath, caller),
}
const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64')

async function fitted(bytes: Uint8Array) {
  const { data, ...types } = await images.fromText(base64(bytes))
  const { width, height, format, exif, orientation } = await sharp(Buffer.from(data, 'base64')).metadata()
  return { ...types, width, height, format, exif, orientation }
}

const kinds: [ImageFormat, string][] = [
  ['png', 'image/png'],
  ['jpeg', 'image/jpeg'],
  ['webp', 'image/webp'],
  ['gif', 'image/png'],
]
for (const [format, mediaType] of kinds) {
  test(`a ${format} becomes ${mediaType} and keeps its size`, async () => {
    const { originalType, mediaType: fittedType, width, height } = await fitted(await makeImage(format))
    assert.deepEqual(
      { originalType, fittedType, width, height },
      { originalType: `image/${format}`, fittedType: mediaType, width: 40, height: 30 },
    )
  })

  test(`a ${format} that is truncated is refused`, async () => {
    const whole = await makeImage(format, { width: 300, height: 200, noise: true })
    for (const part of [0.3, 0.9, 0.995]) {
      await assert.rejects(images.fromText(base64(whole.subarray(0, Math.floor(whole.length * part)))), /broken|not a PNG/, String(part))
    }
  })
}

test('a large image is scaled down, even if it would stay too large as a PNG', async () => {
  const { width, height, mediaType } = await fitted(await makeImage('png', { width: 3000, height: 1500, noise: true }))
  assert.deepEqual({ width, height, mediaType }, { width: 2048, height: 1024, mediaType: 'image/jpeg' })
})

test('an image is turned upright and loses its location metadata', async () => {
  const photo = await sharp(await makeImage('jpeg'))
    .withExif({ IFD0: { Artist: 'Ann' } })
    .withMetadata({ orientation: 6 })
    .toBuffer()
  const { width, height, exif, orientation } = await fitted(photo)
  assert.deepEqual({ width, height, exif, orientation }, { width: 30, height: 40, exif: undefined, orientation: undefined })
})

test('the first frame of an animation is kept', async () => {
  const frames = [await makeImage('png'), await makeImage('png', { noise: true })]
  const { width, height, mediaType } = await fitted(
    await sharp(frames, { join: { animated: true } })
      .gif()
      .toBuffer(),
  )
  assert.deepEqual({ width, height, mediaType }, { width: 40, height: 30, mediaType: 'image/png' })
})

test('a small file that claims billions of pixels is refused without decoding', async () => {
  await assert.rejects(images.fromText(base64(makeBomb(50_000, 50_000))), /more than 64 million pixels/)
})

test('content other than the four image formats is refused', async () => {
  const tiff = await sharp(await makeImage('png'))
    .tiff()
    .toBuffer()
  for (const bytes of [
    Buffer.from('Hello.'),
    svg,
    tiff,
    Buffer.from('%PDF-1.4'),
    await sharp(await makeImage('png'))
      .avif()
      .toBuffer(),
  ]) {
    await assert.rejects(images.fromText(base64(bytes)), /not a PNG, JPEG, GIF or WebP image/)
  }
})

test('invalid base64 of any length is refused quickly', async () => {
  for (const filler of [' ', 'A', '=', '\n', 'A=']) {
    await assert.rejects(images.fromText(`${filler.repeat(1_000_000)}!`), /not base64/)
  }
})

test('base64 may come in a data: URL and in lines; everything else is refused', async () => {
  const bytes = await makeImage('png')
  const lines = base64(bytes).replace(/.{76}/g, '$&\r\n')
  for (const content of [`data:image/png;base64,${base64(bytes)}`, lines, `data:;base64,${lines}`]) {
    assert.equal((await images.fromText(content)).originalType, 'image/png')
  }
  for (const content of ['', '=', 'not base64!', `${base64(bytes)}"`, 'https://example.com/a.png']) {
    await assert.rejects(images.fromText(content), /not base64/, content)
  }
  for (const content of ['data:image/png,%89PNG', 'data:']) await assert.rejects(images.fromText(content), /data: URL is not base64/)
})

test('images larger than the limit are refused before decoding', async () => {
  await assert.rejects(images.fromText('A'.repeat(28_000_000)), /more than 20 MB/)
})

test('an image file is read like base64', async (t) => {
  const folder = await mkdtemp(path.join(tmpdir(), 'images-'))
  t.after(() => rm(folder, { recursive: true }))
  const file = path.join(folder, 'a.gif')
  await writeFile(file, await makeImage('jpeg'))
  assert.equal((await images.fromFile(file)).originalType, 'image/jpeg')
  await writeFile(file, Buffer.alloc(20_000_001))
  await assert.rejects(images.fromFile(file), /more than 20 MB/)
})

test('many images are decoded a few at a time', async () => {
  const content = base64(await makeImage('jpeg', { width: 2000, height: 1500 }))
  const all = await Promise.all(Array.from({ length: 12 }, () => images.fromText(content)))
  assert.equal(new Set(all.map(({ data }) => data)).size, 1)
})
