import assert from 'node:assert/strict'
import test from 'node:test'
import { applyPatch, parseSource, replaceContent, type ChangeRules } from './change/change.ts'
import { hashOf } from './hash.ts'
import { parseAgentConfig } from './parse.ts'
import type { SkillPins } from './skills/pins.ts'

const rules: ChangeRules = { variableUses: new Set(), allowedReferences: ['KEY', 'OTHER'], mayBringCode: false, grantable: new Set() }

const model = (key: string) => `llms:
  primary: {provider: openai-compatible, model: qwen3, base_url: "http://localhost:1/v1", api_key: "${key}"}
`

test('a configuration has one hash, whether a patch, a text or a restored text brought it, and whatever the order of keys', () => {
  const before = parseSource(`name: Orders\n${model('abc')}`)
  const patched = applyPatch(before, { instructions: 'Be brief.', memory: { recall: 3 } }, rules)
  const written = `memory: {recall: 3}\nmax_iterations: 25\ninstructions: Be brief.\nname: Orders\n${model('********')}`
  const replaced = replaceContent(before, parseSource(written).data, rules)
  const restored = parseSource(`# Restored.\n${written.replace('********', 'abc')}`)
  assert.match(hashOf(patched.config), /^[0-9a-f]{64}$/)
  assert.equal(hashOf(replaced.config), hashOf(patched.config))
  assert.equal(hashOf(restored.config), hashOf(patched.config))
  assert.notEqual(hashOf(before.config), hashOf(patched.config))
})

test('a hash neither confirms a guessed secret nor hides another variable', () => {
  const of = (key: string) => hashOf(parseAgentConfig(model(key)))
  assert.equal(of('1234'), of('1235'))
  assert.notEqual(of('${KEY}'), of('${OTHER}'))
  assert.notEqual(of('${KEY}'), of('1234'))
})

test('texts with addresses in them have hashes of their own, passwords in addresses do not', () => {
  const of = (instructions: string, url = 'http://localhost:1/v1') =>
    hashOf(parseAgentConfig(`instructions: ${JSON.stringify(instructions)}\n${model('abc').replace('http://localhost:1/v1', url)}`))
  for (const [one, other] of [
    ['Refund orders.\n//be-brief@x', 'Refund orders.\n//refund-twice@x'],
    ['//x?refund-once', '//x?refund-twice'],
    ['https://once@x', 'https://twice@x'],
  ] as const)
    assert.notEqual(of(one), of(other), other)
  assert.notEqual(of('', 'http://localhost:1/v1?mode=dry'), of('', 'http://localhost:1/v1?mode=real'))
  assert.equal(of('', 'http://ann:1234@localhost:1/v1'), of('', 'http://ann:1235@localhost:1/v1'))
  assert.equal(of('', 'http://localhost:1/v1?api_key=1234'), of('', 'http://localhost:1/v1?api_key=1235'))
})

test('files of skills and modules are part of a hash, in any order; without such files the hash is that of the configuration', () => {
  const config = parseAgentConfig(model('abc'))
  const [a, b] = ['a'.repeat(64), 'b'.repeat(64)]
  assert.equal(hashOf(config, {}), hashOf(config))
  assert.equal(hashOf(config, { x: a, 'tools[x]': b }), hashOf(config, { 'tools[x]': b, x: a }))
  const pins: SkillPins[] = [{}, { x: a }, { x: b }, { y: a }, { 'tools[x]': a }]
  assert.equal(new Set(pins.map((some) => hashOf(config, some))).size, 5)
})
