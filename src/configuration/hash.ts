import { hash } from 'node:crypto'
import { canonicalJson } from '../json/canonical.ts'
import { maskForComparison } from './redact.ts'
import type { AgentConfig } from './schema.ts'
import type { SkillPins } from './skills/pins.ts'

/**
 * SHA-256 (hex) of a configuration with all defaults and of the files of its skills and modules: equal for equal configurations, whether the source was a patch, a text or a restored
 * version. Secrets in clear count as their mask, because experiments and errors show the hash: a hash over a short password would confirm
 * each guess of the password to a reader of the masked configuration. A rotated key therefore keeps the hash; another `${NAME}` changes it, as does
 * any other text.
 */
export function hashOf(config: AgentConfig, pins: SkillPins = {}): string {
  const text = canonicalJson(maskForComparison(config))
  return hash('sha256', Object.keys(pins).length === 0 ? text : `${text}\n${canonicalJson(pins)}`)
}
