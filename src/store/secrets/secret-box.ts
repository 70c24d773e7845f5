import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'

/** Encrypts secrets in the database, so that a copy of the database alone reveals nothing. */
export interface SecretBox {
  /** Encrypts a text. The result opens only under the same name, so that two entries cannot be exchanged. */
  seal(name: string, text: string): string
  /** Decrypts a text. Throws `WrongSecretKey` when no secret matches, and `Error` when the text was tampered with. */
  open(name: string, sealed: string): string
  /** True when the text was encrypted with the first secret. */
  isNewest(sealed: string): boolean
}

/** Encrypts nothing: for a database beside the files that hold the same secrets. */
export const plainBox: SecretBox = { seal: (_name, text) => text, open: (_name, text) => text, isNewest: () => true }

/** A stored text was encrypted with another SECRET_KEY. */
export class WrongSecretKey extends Error {
  constructor(name: string) {
    super(
      `SECRET_KEY is not the key that encrypted the ${name} in the database. Set SECRET_KEY to that key, or to both during a change: "<new> <old>".`,
    )
    this.name = 'WrongSecretKey'
  }
}

/** AES-256-GCM with keys derived from each secret by HKDF (RFC 5869). The first secret encrypts, all decrypt. Needs at least one secret. */
export function createSecretBox(secrets: readonly string[]): SecretBox {
  const keys = secrets.map(toKey)
  const [newest] = keys
  if (!newest) throw new Error('A secret box needs at least one secret.')

  return {
    seal(name, text) {
      const nonce = randomBytes(nonceBytes)
      const cipher = createCipheriv(algorithm, newest.bytes, nonce).setAAD(toContext(newest.id, name))
      const sealed = Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()])
      return [version, newest.id, sealed.toString('base64url')].join('.')
    },

    open(name, sealed) {
      const [, id, text] = sealed.startsWith(`${version}.`) ? sealed.split('.') : []
      if (id === undefined || text === undefined) throw new Error(`This version does not know the format of the ${name} in the database.`)
      const key = keys.find((candidate) => candidate.id === id)
      if (!key) throw new WrongSecretKey(name)
      const bytes = Buffer.from(text, 'base64url')
      const [nonce, content, tag] = [bytes.subarray(0, nonceBytes), bytes.subarray(nonceBytes, -tagBytes), bytes.subarray(-tagBytes)]
      try {
        const decipher = createDecipheriv(algorithm, key.bytes, nonce, { authTagLength: tagBytes }).setAAD(toContext(id, name))
        return Buffer.concat([decipher.setAuthTag(tag).update(content), decipher.final()]).toString()
      } catch (cause) {
        throw new Error(`Something other than this service has changed the ${name} in the database.`, { cause })
      }
    },

    isNewest: (sealed) => sealed.startsWith(`${version}.${newest.id}.`),
  }
}

const algorithm = 'aes-256-gcm'
/** Version of the format: `<version>.<id of the secret>.<nonce, ciphertext and tag in base64url>`. */
const version = 'v1'
const nonceBytes = 12
const tagBytes = 16

/** Derives the key and the id of a secret. The id identifies the secret and reveals nothing about its value. */
function toKey(secret: string): { id: string; bytes: Buffer } {
  return { id: derive(secret, 'id', 8).toString('base64url'), bytes: derive(secret, 'key', 32) }
}

function derive(secret: string, purpose: string, length: number): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', `agent-core secrets ${purpose}`, length))
}

function toContext(id: string, name: string): Buffer {
  return Buffer.from([version, id, name].join('.'))
}
