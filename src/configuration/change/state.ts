import { isDeepStrictEqual } from 'node:util'
import type { ConfigurationSource } from '../source.ts'
import { applyPatch, mergeEdit, type ChangeRules, type ConfigContent } from './change.ts'
import { changedPaths } from './diff.ts'
import { editYaml } from './edit-yaml.ts'
import type { ConfigData } from './merge.ts'
import { variableUsesOf } from './references-rule.ts'

/** What is stored and what is in use: the same data, or different by what was changed in memory alone. */
export interface ConfigurationState {
  readonly stored: ConfigurationSource
  readonly used: ConfigContent
}

/** What a caller's patch makes of it: both what is in use and what is stored are changed, each by itself. Throws as `applyPatch` does. */
export function patchState(
  { stored, used }: ConfigurationState,
  patch: ConfigData,
  { isStored, rules }: { isStored: boolean; rules: Omit<ChangeRules, 'variableUses'> },
): ConfigurationState {
  const changeRules = { ...rules, variableUses: variableUsesOf(stored.data, used.data) }
  const next = applyPatch(used, patch, changeRules)
  if (!isStored) return { stored, used: next }
  const kept = used.data === stored.data ? next : applyPatch(stored, patch, changeRules)
  const text = changedPaths(stored.data, kept.data).length === 0 ? stored.text : editYaml(stored.text, stored.data, kept.data)
  return { stored: { ...kept, text }, used: next }
}

/**
 * What an edit of a file makes of it. `before` is what the file held: where something else is stored by now, both changes count, and the text is
 * the editor's with the other one in it. Throws `ConfigError` where together they are no configuration.
 */
export function editState({ stored, used }: ConfigurationState, before: ConfigData, edited: ConfigurationSource): ConfigurationState {
  const isFollowed = used.data === stored.data
  const kept = isDeepStrictEqual(before, stored.data) ? edited : withText(mergeEdit(stored, before, edited.data), edited)
  return { stored: kept, used: isFollowed ? kept : mergeEdit(used, before, edited.data) }
}

function withText(content: ConfigContent, edited: ConfigurationSource): ConfigurationSource {
  if (changedPaths(edited.data, content.data).length === 0) return edited
  return { ...content, text: editYaml(edited.text, edited.data, content.data) }
}
