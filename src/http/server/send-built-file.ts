import type { FastifyReply, FastifyRequest } from 'fastify'
import type { BuiltFile, ContentEncoding } from './built-files.ts'
import { notFound } from './error-reply.ts'

/** Sends a built file: compressed where the client accepts an encoding, 304 where the client has the same bytes. */
export async function sendBuiltFile(request: FastifyRequest, reply: FastifyReply, file: BuiltFile): Promise<FastifyReply> {
  const accepted = request.headers['accept-encoding'] ?? ''
  const encoding = file.encodings.find((name) => accepts(accepted, name))
  // A newer build has replaced the files: the page of this process names files that are gone.
  const content = await file.read(encoding).catch(() => undefined)
  if (!content) throw notFound(request)
  void reply.headers({
    'content-type': file.type,
    'cache-control': file.isImmutable ? 'public, max-age=31536000, immutable' : 'no-cache',
    'x-content-type-options': 'nosniff',
    etag: content.etag,
    ...(file.encodings.length > 0 && { vary: 'accept-encoding' }),
    ...(encoding && { 'content-encoding': encoding }),
  })
  if (isListed(request.headers['if-none-match'], content.etag)) return reply.code(304).send()
  return reply.send(content.bytes)
}

/** Whether `accept-encoding` (RFC 9110, 12.5.3) names an encoding, and not with a weight of 0. */
export function accepts(header: string | string[], encoding: ContentEncoding): boolean {
  return String(header)
    .toLowerCase()
    .split(',')
    .map((item) => item.split(';').map((part) => part.trim()))
    .some(([name, ...parameters]) => name === encoding && !parameters.some((parameter) => /^q=0(\.0{0,3})?$/.test(parameter)))
}

/** Whether `if-none-match` (RFC 9110, 13.1.2) lists an entity tag. */
export function isListed(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false
  return header === '*' || header.split(',').some((item) => item.trim().replace(/^W\//, '') === etag)
}
