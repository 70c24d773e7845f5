import { create as attachment } from 'content-disposition'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { LinkedFile, OpenArtifact } from '../../artifacts/artifact-store.ts'
import { ServiceError } from '../../errors.ts'

/** Response headers and replies of a route that sends a file, for the OpenAPI document. */
const file = {
  description: 'The file.',
  content: { '*/*': { schema: { type: 'string', format: 'binary' } } },
  headers: {
    'content-disposition': { type: 'string', description: '`attachment` with the file name.' },
    'accept-ranges': { type: 'string' },
    etag: { type: 'string' },
  },
}

export const fileReplies = {
  200: file,
  206: {
    ...file,
    description: 'The requested range of the file.',
    headers: { ...file.headers, 'content-range': { type: 'string' } },
  },
  416: {
    type: 'null',
    description: 'The range begins after the end of the file.',
    headers: { ...file.headers, 'content-range': { type: 'string' } },
  },
}

/** Milliseconds without progress after which a download is aborted. */
const stalledMs = 60_000

/** Uses of a download in a browser: as a whole page or frame, by a script of the console, or as a picture or sound in a page. */
const permittedUses = new Set(['document', 'frame', 'iframe', 'empty', 'image', 'audio', 'video'])

/**
 * Refuses a file as a part of a page that can act with the rights of the page, such as a script or a style: the policy of the console
 * permits scripts of this origin, and files come from models, tools and callers. Browsers state the use in `sec-fetch-dest`, which no script can
 * change.
 */
export function refuseAsCode(request: FastifyRequest, _reply: FastifyReply, done: (error?: Error) => void): void {
  const use = request.headers['sec-fetch-dest']
  if (use === undefined || permittedUses.has(use)) return done()
  done(new ServiceError('forbidden', `A file is sent as a download, not for use as ${JSON.stringify(use)} in a page.`))
}

/**
 * Streams a file, or a range of the file, from its store as an attachment. `id` names the content, which never changes. The headers keep browsers from rendering the content as a page of this origin.
 */
export async function sendFile(
  { id, name, type, content }: LinkedFile & { id: string; content: OpenArtifact },
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const etag = `"${id}"`
  const condition = request.headers['if-range']
  const range = toByteRange(condition === undefined || condition === etag ? request.headers.range : undefined, content.size)
  void reply.headers({
    'content-type': type,
    'content-disposition': attachment(name),
    'x-content-type-options': 'nosniff',
    'content-security-policy': 'sandbox',
    'cache-control': 'private, no-store',
    'accept-ranges': 'bytes',
    etag,
  })
  if (range === 'none') {
    await content.close()
    return reply.code(416).header('content-range', `bytes */${content.size}`).send('')
  }
  const { start, end } = range === 'all' ? { start: 0, end: content.size - 1 } : range
  if (range !== 'all') void reply.code(206).header('content-range', `bytes ${start}-${end}/${content.size}`)
  void reply.header('content-length', String(end - start + 1))
  if (request.method === 'HEAD' || end < start) {
    await content.close()
    return reply.send('')
  }
  reply.raw.setTimeout(stalledMs)
  return reply.send(content.read({ start, end }))
}

/** Bytes `start` to `end` of a file, both included. */
export interface ByteRange {
  start: number
  end: number
}

/**
 * Parses a `range` header for a file of `size` bytes (RFC 9110, 14.2). `all`: no header, several ranges or another unit, so the whole file is
 * sent. `none`: the range begins after the end of the file.
 */
export function toByteRange(header: string | undefined, size: number): ByteRange | 'all' | 'none' {
  const [, first, last] = /^bytes=\s*(\d*)-(\d*)\s*$/i.exec(header ?? '') ?? []
  if (first === undefined || last === undefined || (first === '' && last === '')) return 'all'
  const start = first === '' ? Math.max(0, size - Number(last)) : Number(first)
  const end = first === '' || last === '' ? size - 1 : Math.min(Number(last), size - 1)
  if (first !== '' && last !== '' && Number(last) < Number(first)) return 'all'
  return start > end ? 'none' : { start, end }
}
