import { isDeepStrictEqual } from 'node:util'
import {
  type ConfigurationSource,
  applyPatch,
  mergeEdit,
  replaceContent,
  type ChangeRules,
  type ConfigContent,
  withLines,
} from './change.ts'
import { isObject } from '../../json/shape.ts'
import { ConfigError, problemAt } from '../problems.ts'
import { readYaml, type YamlSource } from '../yaml-source.ts'
import { changedPaths, type ConfigData } from './merge.ts'
import { editYaml } from './edit-yaml.ts'
import { maskRemoved, maskText, unmaskText } from './mask-text.ts'
import { findTooLargeText, variableUsesOf } from './rules.ts'

/** The stored configuration and the configuration in use. The two differ by changes in memory only. */
export interface ConfigurationState {
  readonly stored: ConfigurationSource
  readonly used: ConfigContent
}

/** A change that a caller asks for. */
export type RequestedChange =
  /** RFC 7396: merged into the configuration. */
  | { kind: 'patch'; patch: ConfigData }
  /** A YAML text that replaces the stored text, as shown to the caller: with masked secrets. */
  | { kind: 'text'; text: string }

export interface ChangeOptions {
  /** True to change the stored configuration too. */
  isStored: boolean
  rules: Omit<ChangeRules, 'variableUses'>
}

/** Applies a caller's change. Throws as `applyPatch` does; the problems of a text have lines. */
export function changeState(state: ConfigurationState, change: RequestedChange, options: ChangeOptions): ConfigurationState {
  return change.kind === 'patch' ? patchState(state, change.patch, options) : replaceText(state, change.text, options)
}

/** Applies a caller's patch to the configuration in use, and with `isStored` also to the stored configuration. Throws as `applyPatch` does. */
export function patchState(
  { stored, used }: ConfigurationState,
  patch: ConfigData,
  { isStored, rules }: ChangeOptions,
): ConfigurationState {
  const changeRules = { ...rules, variableUses: variableUsesOf(stored.data, used.data) }
  const next = applyPatch(used, patch, changeRules)
  if (!isStored) return { stored, used: next }
  const content = used.data === stored.data ? next : applyPatch(stored, patch, changeRules)
  const isSame = changedPaths(stored.data, content.data).length === 0
  const text = isSame ? stored.text : maskRemoved(editYaml(stored.text, stored.data, content.data), stored.data, content.data)
  return { stored: { ...content, text }, used: next }
}

/**
 * Replaces the stored text. Changes in memory only stay in effect, as for an edit of the file. Comments, order and style of the text are
 * kept, except where a secret takes the place of its mask.
 */
function replaceText(state: ConfigurationState, text: string, { isStored, rules }: ChangeOptions): ConfigurationState {
  const { stored, used } = state
  if (text === maskText(stored)) return state
  const { data: sent, lineOf } = readText(text)
  const content = withLines(lineOf, () => {
    return replaceContent(stored, sent, { ...rules, variableUses: variableUsesOf(stored.data, used.data) })
  })
  const source = { ...content, text: unmaskText(text, { before: sent, after: content.data, original: stored }) }
  const nextUsed = used.data === stored.data ? source : mergeEdit(used, stored.data, source.data)
  return { stored: isStored ? source : stored, used: nextUsed }
}

function readText(text: string): { data: ConfigData; lineOf: YamlSource['lineOf'] } {
  if (text.trim() === '') throw new ConfigError([problemAt([], 'is empty')])
  const tooLarge = findTooLargeText(text)
  if (tooLarge) throw new ConfigError([tooLarge])
  const { value, lineOf } = readYaml(text)
  if (!isObject(value)) throw new ConfigError([problemAt([], 'must be a mapping')])
  return { data: value, lineOf }
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
