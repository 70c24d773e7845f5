import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { notFound } from '../server/error-reply.ts'

/** A file that was made when the package was built. */
export interface BuiltFile {
  /** Value of `content-type`. */
  type: string
  /** True for a file whose name contains a hash of its content. */
  isImmutable: boolean
  /** Encodings with a compressed copy, the preferred encoding first. */
  encodings: readonly ContentEncoding[]
  /** Reads the file. Nothing is kept in memory. Rejects when the file has been removed. */
  read(encoding?: ContentEncoding): Promise<FileContent>
}

export interface FileContent {
  bytes: Buffer
  /** Strong validator, with quotes. */
  etag: string
}

export type ContentEncoding = 'br' | 'gzip'

const endings: Record<ContentEncoding, string> = { br: '.br', gzip: '.gz' }

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.webp': 'image/webp',
  '.woff2': 'font/woff2',
  '.woff': 'font/woff',
  '.wasm': 'application/wasm',
  '.txt': 'text/plain; charset=utf-8',
  '.md': 'text/markdown; charset=utf-8',
}

/**
 * Lists the files of a folder by their path, such as `assets/index-B1x2.js`. The folder is read once, so that no path of a request reaches
 * the disk. Empty when the folder does not exist.
 */
export async function listBuiltFiles(folder: string): Promise<Map<string, BuiltFile>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
  const names = new Set(
    entries
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => path.relative(folder, path.join(parentPath, name)).split(path.sep).join('/')),
  )
  const isServed = (name: string) => !/\.(br|gz|map)$/.test(name)
  return new Map([...names].filter(isServed).map((name) => [name, toFile(folder, name, names)]))
}

function toFile(folder: string, name: string, names: ReadonlySet<string>): BuiltFile {
  return {
    type: types[path.extname(name)] ?? 'application/octet-stream',
    isImmutable: name.startsWith('assets/'),
    encodings: (['br', 'gzip'] as const).filter((encoding) => names.has(name + endings[encoding])),
    read: (encoding) => readContent(path.join(folder, name) + (encoding ? endings[encoding] : '')),
  }
}

async function readContent(file: string): Promise<FileContent> {
  const bytes = await readFile(file)
  return { bytes, etag: etagOf(bytes) }
}

/** A strong validator, with quotes. */
export function etagOf(content: Buffer | string): string {
  return `"${createHash('sha256').update(content).digest('base64url').slice(0, 22)}"`
}

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
