import { createHmac, timingSafeEqual } from 'node:crypto'
import { ServiceError } from '../errors.ts'
import type { ArtifactLocation, LinkedFile } from './artifact-store.ts'

/** The file behind a link. */
interface LinkedArtifact extends ArtifactLocation, LinkedFile {}

/** A link's query parameters. */
export interface LinkQuery {
  name: string
  type: string
  /** Epoch seconds. */
  expires: string
  /** HMAC-SHA256 over the path and the other parameters, base64url. */
  signature: string
}

/** A link's query parameters as received, not verified. */
export type UntrustedQuery = Readonly<{ [K in keyof LinkQuery]?: unknown }>

/** URLs that each serve a file without a key until the expiry. */
interface SignedLinks {
  /** Path and query. */
  sign(file: LinkedArtifact, seconds: number): string
  /** Throws `forbidden` for a wrong signature, `gone` for an expired link. */
  check(location: ArtifactLocation, query: UntrustedQuery): LinkedArtifact
}

/** Path of all links: `<path>/<folder>/<id>`. */
export const linkPath = '/core/v1/artifacts'

/** Signs with the first of the current secrets; verifies with any. There is always at least one. */
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
      const givenBytes = Buffer.from(signature, 'base64url')
      const isRight = (right: Buffer) => givenBytes.length === right.length && timingSafeEqual(givenBytes, right)
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
