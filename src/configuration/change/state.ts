import { isDeepStrictEqual } from 'node:util'
import type { ConfigurationSource } from '../source.ts'
import { applyPatch, mergeEdit, type ChangeRules, type ConfigContent } from './change.ts'
import { changedPaths } from './diff.ts'
import { editYaml } from './edit-yaml.ts'
import type { ConfigData } from './merge.ts'
import { variableUsesOf } from './references-rule.ts'

/** The stored configuration and the configuration in use. The two differ by changes in memory only. */
export interface ConfigurationState {
  readonly stored: ConfigurationSource
  readonly used: ConfigContent
}

/** Applies a caller's patch to the configuration in use, and with `isStored` also to the stored configuration. Throws as `applyPatch` does. */
export function patchState(
  { stored, used }: ConfigurationState,
  patch: ConfigData,
  { isStored, rules }: { isStored: boolean; rules: Omit<ChangeRules, 'variableUses'> },
): ConfigurationState {
  const changeRules = { ...rules, variableUses: variableUsesOf(stored.data, used.data) }
  const next = applyPatch(used, patch, changeRules)
  if (!isStored) return { stored, used: next }
  const content = used.data === stored.data ? next : applyPatch(stored, patch, changeRules)
  const isSame = changedPaths(stored.data, content.data).length === 0
  const text = isSame ? stored.text : editYaml(stored.text, stored.data, content.data)
  return { stored: { ...content, text }, used: next }
}

/**
 * Applies an edit of the file. `before` is the former content of the file. If the stored configuration has changed since, both changes are
 * merged into the edited text. Throws `ConfigError` when the merged configuration is invalid.
 */
export function editState({ stored, used }: ConfigurationState, before: ConfigData, edited: ConfigurationSource): ConfigurationState {
  const isFollowed = used.data === stored.data
  const source = isDeepStrictEqual(before, stored.data) ? edited : withText(mergeEdit(stored, before, edited.data), edited)
  return { stored: source, used: isFollowed ? source : mergeEdit(used, before, edited.data) }
}

function withText(content: ConfigContent, edited: ConfigurationSource): ConfigurationSource {
  if (changedPaths(edited.data, content.data).length === 0) return edited
  return { ...content, text: editYaml(edited.text, edited.data, content.data) }
}
