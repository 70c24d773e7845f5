import { crc32 } from 'node:zlib'

/** Frames of AWS event streams: lengths, headers, payload and two checksums. */

const stringType = 7

function headerOf([name, value]: readonly [string, string]): Buffer {
  const head = Buffer.from([name.length, ...Buffer.from(name), stringType, value.length >> 8, value.length & 255])
  return Buffer.concat([head, Buffer.from(value)])
}

/** An event, or an exception where `kind` says so. */
export function frame(type: string, payload: object, kind: 'event' | 'exception' = 'event'): Buffer {
  const headers = Buffer.concat(
    (
      [
        [`:${kind}-type`, type],
        [':content-type', 'application/json'],
        [':message-type', kind],
      ] as const
    ).map(headerOf),
  )
  const body = Buffer.from(JSON.stringify(payload))
  const prelude = Buffer.alloc(12)
  prelude.writeUInt32BE(16 + headers.length + body.length, 0)
  prelude.writeUInt32BE(headers.length, 4)
  prelude.writeUInt32BE(crc32(prelude.subarray(0, 8)), 8)
  const message = Buffer.concat([prelude, headers, body])
  const checksum = Buffer.alloc(4)
  checksum.writeUInt32BE(crc32(message))
  return Buffer.concat([message, checksum])
}
