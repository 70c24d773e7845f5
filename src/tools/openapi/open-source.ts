import { resolveReferences } from '../../configuration/references.ts'
import { openAddress } from './source-address.ts'
import { openFile } from './source-file.ts'
import type { Source, SourceOptions } from './source.ts'

export function openSource({ spec, folder, environment, outbound, headers }: SourceOptions): Source {
  const resolved = /^https?:\/\/|^\$\{/.test(spec) ? resolveReferences(spec, environment) : spec
  if (/^https?:\/\//i.test(resolved)) return openAddress(resolved, outbound, headers)
  return openFile(resolved, folder)
}
