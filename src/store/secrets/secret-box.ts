import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'

/** Wraps what a database keeps, so that a copy of the database alone tells nothing. */
export interface SecretBox {
  /** A text that can be opened under this name alone: two entries can't be exchanged for each other. */
  seal(name: string, text: string): string
  /** Throws `WrongSecretKey` where none of the secrets wrapped it, and an `Error` where it was changed since. */
  open(name: string, sealed: string): string
  /** Whether the first secret wrapped it. */
  isNewest(sealed: string): boolean
}

/** What is kept was wrapped by another SECRET_KEY. */
export class WrongSecretKey extends Error {
  constructor(name: string) {
    super(
      `SECRET_KEY is not the one that wrapped the ${name} in the database. Set it to that one; while it is being changed, to both: "<new> <old>".`,
    )
    this.name = 'WrongSecretKey'
  }
}

/** AES-256-GCM under a key that HKDF (RFC 5869) makes of each secret; the first wraps, all of them open. At least one. */
export function createSecretBox(secrets: readonly string[]): SecretBox {
  const keys = secrets.map(toKey)
  const [newest] = keys
  if (!newest) throw new Error('There is no secret to wrap with.')

  return {
    seal(name, text) {
      const nonce = randomBytes(nonceBytes)
      const cipher = createCipheriv(algorithm, newest.bytes, nonce).setAAD(toContext(newest.id, name))
      const sealed = Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()])
      return [version, newest.id, sealed.toString('base64url')].join('.')
    },

    open(name, sealed) {
      const [, id, text] = sealed.startsWith(`${version}.`) ? sealed.split('.') : []
      if (id === undefined || text === undefined) throw new Error(`The ${name} in the database has no form that this version knows.`)
      const key = keys.find((candidate) => candidate.id === id)
      if (!key) throw new WrongSecretKey(name)
      const bytes = Buffer.from(text, 'base64url')
      const [nonce, content, tag] = [bytes.subarray(0, nonceBytes), bytes.subarray(nonceBytes, -tagBytes), bytes.subarray(-tagBytes)]
      try {
        const decipher = createDecipheriv(algorithm, key.bytes, nonce, { authTagLength: tagBytes }).setAAD(toContext(id, name))
        return Buffer.concat([decipher.setAuthTag(tag).update(content), decipher.final()]).toString()
      } catch (cause) {
        throw new Error(`The ${name} in the database was changed by something else than this service.`, { cause })
      }
    },

    isNewest: (sealed) => sealed.startsWith(`${version}.${newest.id}.`),
  }
}

const algorithm = 'aes-256-gcm'
/** Of the form: this, the id of the secret, and nonce, ciphertext and tag in base64url, separated by dots. */
const version = 'v1'
const nonceBytes = 12
const tagBytes = 16

/** The id says which secret it is, and nothing about it. */
function toKey(secret: string): { id: string; bytes: Buffer } {
  return { id: derive(secret, 'id', 8).toString('base64url'), bytes: derive(secret, 'key', 32) }
}

function derive(secret: string, purpose: string, length: number): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', `agent-core secrets ${purpose}`, length))
}

function toContext(id: string, name: string): Buffer {
  return Buffer.from([version, id, name].join('.'))
}
