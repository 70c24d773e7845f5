import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'

/** The types that `npm run codegen` writes. */
export const generatedFile = path.join(import.meta.dirname, '../../client/src/generated/interface.ts')

/** Reads the hash of the interface that the committed types describe; undefined without types. */
export function readGeneratedHash(): string | undefined {
  if (!existsSync(generatedFile)) return undefined
  return /^\/\/ ([0-9a-f]{64})$/m.exec(readFileSync(generatedFile, 'utf8'))?.[1]
}
