import { createReadStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { maxLineLength } from '../audit/export.ts'
import type { HeadKey, SignedHead } from '../audit/heads.ts'
import { parseJson } from '../json/shape.ts'
import { CommandFailure, type Terminal } from './terminal.ts'

/** A file of keys or heads, at most. */
const maxFileLength = 16 * 1_048_576

async function readText({ cwd }: Terminal, file: string): Promise<string> {
  const text = await readFile(path.resolve(cwd, file), 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new CommandFailure(2, [`${file} cannot be read (${error.code}).`])
  })
  if (text.length > maxFileLength) throw new CommandFailure(2, [`${file} is longer than 16 MiB.`])
  return text
}

/** The Ed25519 keys of a JWKS. */
export async function readKeys(terminal: Terminal, file: string): Promise<HeadKey[]> {
  const { keys } = (parseJson(await readText(terminal, file)) ?? {}) as { keys?: unknown }
  const usable = (Array.isArray(keys) ? keys : []).filter(isKey)
  if (usable.length === 0)
    throw new CommandFailure(2, [`${file} has no Ed25519 key. It must be a JWKS, such as "agent-core audit keys" prints.`])
  return usable
}

function isKey(value: unknown): value is HeadKey {
  const { kid, kty, crv, x, exp } = (value ?? {}) as Partial<Record<keyof HeadKey, unknown>>
  const isEd25519 = kty === 'OKP' && crv === 'Ed25519' && typeof x === 'string' && /^[\w-]{43}$/.test(x)
  return isEd25519 && typeof kid === 'string' && (exp === undefined || typeof exp === 'number')
}

/** Heads as they were sent, listed or exported: everything in JSON or in lines of JSON that has a `jws`, or the signatures alone. */
export async function readHeads(terminal: Terminal, file: string): Promise<SignedHead[]> {
  const text = await readText(terminal, file)
  const whole = parseJson(text)
  const values = whole === undefined ? text.split(/\r?\n/).map((line) => parseJson(line) ?? line.trim()) : [whole]
  const heads = values.flatMap(findSignatures).map(toHead)
  const found = heads.filter((head) => head !== undefined)
  if (found.length === 0 || found.length < heads.length) throw new CommandFailure(2, [`${file} has no signed head, or one that is none.`])
  return found
}

/** JWS texts within a value: of a CloudEvent, a list of heads, or lines of an export. Those of cuts are no evidence of an end. */
function findSignatures(value: unknown): string[] {
  if (typeof value === 'string') return value === '' ? [] : [value]
  if (Array.isArray(value)) return value.flatMap(findSignatures)
  const { jws, data, heads, type } = (value ?? {}) as Record<string, unknown>
  if (typeof jws === 'string') return type === 'cut' ? [] : [jws]
  return [data, heads].filter((inner) => typeof inner === 'object').flatMap(findSignatures)
}

function toHead(jws: string): SignedHead | undefined {
  const [header, payload] = jws.split('.').map((part) => parseJson(Buffer.from(part, 'base64url').toString()) as Record<string, unknown>)
  const { tenant, seq, hash, at } = payload ?? {}
  const isWhole = [tenant, hash, at].every((text) => typeof text === 'string') && Number.isSafeInteger(seq)
  if (!isWhole) return undefined
  return {
    tenant: tenant as string,
    kind: 'head',
    seq: seq as number,
    hash: hash as string,
    at: at as string,
    kid: String(header?.['kid']),
    jws,
  }
}

/** The lines of a file, without their ends. A line that is too long, or no UTF-8, is the last. */
export async function* readLines({ cwd }: Terminal, file: string): AsyncGenerator<string, void> {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  let rest = ''
  try {
    for await (const chunk of createReadStream(path.resolve(cwd, file))) {
      const lines = (rest + decoder.decode(chunk as Buffer, { stream: true })).split('\n')
      rest = lines.pop()!
      yield* lines
      if (rest.length > maxLineLength) break
    }
    rest += decoder.decode()
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'ERR_ENCODING_INVALID_ENCODED_DATA') throw new CommandFailure(2, [`${file} cannot be read (${code}).`])
    rest = '\uFFFD'
  }
  if (rest !== '') yield rest
}
