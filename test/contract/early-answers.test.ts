import assert from 'node:assert/strict'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { startService, type TestService } from '../fixtures/service.ts'

const mebibyte = 1024 * 1024
const piece = Buffer.alloc(65_536, 'x')

/** A client that sends its whole body before reading, as blocking clients do. */
async function sendThenRead(
  { url }: TestService,
  headers: Record<string, string>,
  bytes: number,
  { path = '/core/v1/chain', version = '1.1' } = {},
): Promise<{ text: string; socket: Socket }> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  await write(socket, `POST ${path} HTTP/${version}\r\nhost: x\r\n${lines.join('')}content-length: ${bytes}\r\n\r\n`)
  for (let sent = 0; sent < bytes; sent += piece.length) await write(socket, piece.subarray(0, bytes - sent))
  return { text: await answerOf(socket), socket }
}

function write(socket: Socket, data: string | Buffer): Promise<void> {
  return new Promise((resolve, reject) => socket.write(data, (error) => (error ? reject(error) : resolve())))
}

/** One answer, read by its content-length. */
async function answerOf(socket: Socket): Promise<string> {
  let text = ''
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const onData = (data: Buffer) => {
    text += String(data)
    const [head = '', body = ''] = text.split('\r\n\r\n')
    const length = /content-length: (\d+)/i.exec(head)?.[1]
    if (length !== undefined && body.length >= Number(length)) resolve(text)
  }
  socket
    .on('data', onData)
    .once('error', reject)
    .once('end', () => reject(new Error(`closed behind ${JSON.stringify(text)}`)))
  return promise.finally(() => socket.off('data', onData))
}

const json = { 'content-type': 'application/json' }

test('Errors: a refusal reaches a client that sends 60 MB before reading, and the connection stays open', async (t) => {
  const service = await startService(t, { script: {}, environment: { HTTP_BODY_LIMIT: '1mb' } })
  const { key } = await service.key()
  const viewer = await service.key({ roles: ['viewer'] })
  for (const [headers, status] of [
    [json, 401],
    [{ ...json, 'x-service-access': viewer.key }, 403],
    [{ ...json, 'x-service-access': key }, 413],
    [{ 'content-type': 'text/plain', 'x-service-access': key }, 415],
  ] as const) {
    const { text, socket } = await sendThenRead(service, headers, 60 * mebibyte)
    assert.match(text, new RegExp(`^HTTP/1.1 ${status} `))
    assert.equal(JSON.parse(text.split('\r\n\r\n')[1]!).status_code, status)
    socket.write('GET /health HTTP/1.1\r\nhost: x\r\n\r\n')
    assert.match(await answerOf(socket), /^HTTP\/1.1 200 /)
    socket.destroy()
  }
})

test('Errors: a refusal reaches fetch while it sends 60 MB', async (t) => {
  const { url, key } = await startService(t, { script: {}, environment: { HTTP_BODY_LIMIT: '1mb' } })
  const body = Buffer.alloc(60 * mebibyte, 'x')
  for (const [access, status] of [
    ['', 401],
    [(await key()).key, 413],
  ] as const) {
    const response = await fetch(`${url}/core/v1/chain`, { method: 'POST', headers: { ...json, 'x-service-access': access }, body })
    const reply = (await response.json()) as { status_code: number }
    assert.deepEqual({ status: response.status, status_code: reply.status_code }, { status, status_code: status })
  }
})

test('Errors: a refusal reaches a client that sends 60 MB before reading and closes its connection', async (t) => {
  const service = await startService(t, { script: {}, environment: { HTTP_BODY_LIMIT: '1mb' } })
  const { key } = await service.key()
  for (const version of ['1.1', '1.0']) {
    for (const [headers, status, path = '/core/v1/chain'] of [
      [json, 401],
      [json, 404, '/nothing'],
      [json, 404, `/${'x'.repeat(2000)}`],
      [{ ...json, 'x-service-access': key }, 413],
      [{ 'content-type': 'text/plain', 'x-service-access': key }, 415],
    ] as const) {
      const closing = version === '1.0' ? headers : { ...headers, connection: 'close' }
      const { text, socket } = await sendThenRead(service, closing, 60 * mebibyte, { path, version })
      assert.match(text, new RegExp(`^HTTP/1.1 ${status} `))
      assert.match(text, /^connection: close\r$/im)
      await new Promise<void>((resolve) => socket.once('close', () => resolve()))
    }
  }
})

test('Errors: what follows a refused body is no request on a connection that the client closes', async (t) => {
  const { url, key, model } = await startService(t, { script: {} })
  const access = `x-service-access: ${(await key()).key}\r\n`
  const chat = JSON.stringify({ messages: [{ role: 'user', content: 'hello' }] })
  const hidden = `POST /core/v1/chain HTTP/1.1\r\nhost: x\r\n${access}content-type: application/json\r\ncontent-length: ${chat.length}\r\n\r\n${chat}`
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.write(`POST /nothing HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 100000\r\n\r\n`)
  assert.match(await answerOf(socket), /^HTTP\/1.1 404 /)
  await write(socket, Buffer.alloc(100_000, 'x'))
  socket.end(hidden)
  await new Promise<void>((resolve) => socket.once('close', () => resolve()))
  assert.equal(model.requests.length, 0)
})

test('Errors: a client that is answered and closed, and still sends, is disconnected', async (t) => {
  const { url } = await startService(t, { script: {} })
  const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1', allowHalfOpen: true })
  t.after(() => socket.destroy())
  socket.on('error', () => undefined).resume()
  socket.write('POST /nothing HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 1000000000\r\n\r\n')
  let sentBytes = 0
  while (!socket.destroyed && sentBytes < 400 * mebibyte) {
    await new Promise<void>((resolve) => socket.write(piece, () => resolve()))
    sentBytes += piece.length
  }
  assert.ok(socket.destroyed, `${sentBytes} bytes were taken`)
})

test('Errors: too many values are refused while the body arrives, and the client reads the refusal', async (t) => {
  const service = await startService(t, { script: {} })
  const { key } = await service.key()
  const socket = connect(Number(new URL(service.url).port), '127.0.0.1')
  const body = `[${'{},'.repeat(5_000_000)}{}]`
  socket.write(
    `POST /core/v1/chain HTTP/1.1\r\nhost: x\r\nx-service-access: ${key}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`,
  )
  await write(socket, body)
  assert.match(await answerOf(socket), /^HTTP\/1.1 413 /)
  socket.destroy()
})

test('Errors: a client that waits for 100 Continue gets it for an accepted body, and a refusal otherwise', async (t) => {
  const { url, key } = await startService(t, { script: {} })
  const body = JSON.stringify({ messages: [{ role: 'user', content: 'hello' }] })
  const access = (await key()).key
  for (const [headers, length, status, continued] of [
    [{ 'x-service-access': access }, body.length, 200, true],
    [{ 'x-service-access': 'nonsense' }, body.length, 401, false],
    [{ 'x-service-access': access }, 100 * mebibyte, 413, false],
  ] as const) {
    const request = httpRequest(`${url}/core/v1/chain`, {
      method: 'POST',
      headers: { ...json, ...headers, expect: '100-continue', 'content-length': length },
    })
    let isContinued = false
    request.on('continue', () => {
      isContinued = true
      request.end(body)
    })
    request.flushHeaders()
    const response = await new Promise<IncomingMessage>((resolve, reject) => request.on('response', resolve).on('error', reject))
    assert.deepEqual({ statusCode: response.statusCode, isContinued }, { statusCode: status, isContinued: continued })
    assert.equal(response.headers.connection === 'close', !continued)
    response.resume()
    if (!isContinued) request.destroy()
  }
})

test('Errors: a client that is answered and then stalls its body is disconnected', async (t) => {
  const { url } = await startService(t, { script: {} })
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  t.after(() => socket.destroy())
  socket.write('GET /health HTTP/1.1\r\nhost: x\r\ncontent-length: 60000\r\n\r\n{')
  assert.match(await answerOf(socket), /^HTTP\/1.1 200 /)
  await new Promise<void>((resolve) => socket.once('close', () => resolve()))
})

test('Errors: oversized headers are refused, and the refusal reaches a client that sends all headers first', async (t) => {
  const { url } = await startService(t, { script: {} })
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  t.after(() => socket.destroy())
  await write(socket, 'GET /health HTTP/1.1\r\nhost: x\r\nlong: ')
  for (let n = 0; n < 64; n++) await write(socket, piece)
  assert.match(await answerOf(socket), /^HTTP\/1.1 431 /)
})
