import { createHmac, timingSafeEqual } from 'node:crypto'
import { ServiceError } from '../errors.ts'
import type { ArtifactLocation, LinkedFile } from './artifact-bytes.ts'

/** What a link stands for. */
export interface LinkedArtifact extends ArtifactLocation, LinkedFile {}

/** A link's query, as it is signed and as it comes back. */
export interface LinkQuery {
  name: string
  type: string
  /** Epoch seconds. */
  expires: string
  /** HMAC-SHA256 over everything before it, base64url. */
  signature: string
}

/** A link's query as it came, from anybody. */
export type UntrustedQuery = Readonly<{ [K in keyof LinkQuery]?: unknown }>

/** Addresses that hand out one file, without a key, until they expire. */
export interface SignedLinks {
  /** Path and query. */
  sign(file: LinkedArtifact, seconds: number): string
  /** Throws `forbidden` where the service never signed this, `gone` where it has expired. */
  check(location: ArtifactLocation, query: UntrustedQuery): LinkedArtifact
}

/** Under which links are served: `<path>/<folder>/<id>`. */
export const linkPath = '/core/v1/artifacts'

/** With the first of the secrets as they are then; what any of them has signed is good. There is always one. */
export function createSignedLinks(secrets: () => readonly Uint8Array[], now: () => number): SignedLinks {
  const signatures = (fields: readonly string[]) => secrets().map((secret) => signatureBy(secret, fields))

  return {
    sign({ folder, id, name, type }, seconds) {
      const expires = String(Math.floor(now() / 1000) + seconds)
      const signature = signatureBy(secrets()[0]!, [folder, id, name, type, expires]).toString('base64url')
      const query: LinkQuery = { name, type, expires, signature }
      return `${linkPath}/${folder}/${id}?${new URLSearchParams({ ...query }).toString()}`
    },
    check({ folder, id }, query) {
      const name = toText(query.name)
      const type = toText(query.type)
      const expires = toText(query.expires)
      const signature = toText(query.signature)
      const given = Buffer.from(signature, 'base64url')
      const isRight = (right: Buffer) => given.length === right.length && timingSafeEqual(given, right)
      if (!signatures([folder, id, name, type, expires]).some(isRight)) {
        throw new ServiceError('forbidden', 'RBAC: access denied: this link was not made by this service.')
      }
      if (Number(expires) * 1000 <= now()) throw new ServiceError('gone', 'This link has expired. Ask for a new one.')
      return { folder, id, name, type }
    },
  }
}

function signatureBy(secret: Uint8Array, fields: readonly string[]): Buffer {
  return createHmac('sha256', secret).update(JSON.stringify(fields)).digest()
}

function toText(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
