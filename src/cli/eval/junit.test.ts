import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadPyodide } from 'pyodide'
import { toJunit, type JunitCase } from './junit.ts'

/** Elements as Expat reads them, a parser that refuses what is not well-formed. */
const program = `
import json
from xml.etree import ElementTree

def read(element):
    return [element.tag, dict(element.attrib), element.text or "", [read(child) for child in element]]

json.dumps(read(ElementTree.fromstring(text.encode())))
`

type Read = [tag: string, attributes: Record<string, string>, text: string, children: Read[]]

const python = await loadPyodide()

function read(xml: string): Read {
  python.globals.set('text', xml)
  return JSON.parse(python.runPython(program) as string) as Read
}

const failed = (text: string, name = text): JunitCase => ({ name, seconds: 0.5, fault: { kind: 'failure', message: text, text } })

test('suites have their cases, counts and times', () => {
  const error: JunitCase = { name: 'b', seconds: 1, fault: { kind: 'error', message: 'no reply', text: 'the model is away' } }
  const xml = toJunit('e1', [
    { name: 'core', cases: [{ name: 'a', seconds: 0.25 }, error, failed('added')] },
    { name: 'other', cases: [] },
  ])
  const [tag, attributes, , suites] = read(xml)
  assert.deepEqual([tag, attributes], ['testsuites', { name: 'e1', tests: '3', failures: '1', errors: '1', time: '1.750' }])
  const [core, other] = suites
  assert.deepEqual(core![1], { name: 'core', tests: '3', failures: '1', errors: '1', time: '1.750' })
  const [a, b] = core![3]
  assert.deepEqual(a, ['testcase', { classname: 'core', name: 'a', time: '0.250' }, '', []])
  assert.deepEqual(b![3], [['error', { message: 'no reply' }, 'the model is away', []]])
  assert.deepEqual(other, ['testsuite', { name: 'other', tests: '0', failures: '0', errors: '0', time: '0.000' }, '', []])
})

test('any text stays readable and adds no element', () => {
  const texts = [
    `</failure><failure message="x">]]> & ' "`,
    '<!--',
    '<![CDATA[',
    '&amp; &#0;',
    '\ttab\r\nlines\n',
    'é \u{1F600} \uE000 \uFFFD',
  ]
  for (const text of texts) {
    const [, , , [suite]] = read(toJunit(text, [{ name: text, cases: [failed(text)] }]))
    const [, { name }, , [single]] = suite!
    assert.deepEqual([name, single![1]['name'], single![3]], [text, text, [['failure', { message: text }, text, []]]])
  }
})

test('each character that XML forbids becomes its escape', () => {
  for (let code = 0; code <= 0xffff; code++) {
    const isNear = code < 0x21 || (code > 0x7e && code < 0xa1) || code % 0x100 >= 0xfe || code % 0x800 === 0
    if (!isNear) continue
    const mark = String.fromCharCode(code)
    const isForbidden = (code < 0x20 && !'\t\n\r'.includes(mark)) || (code >= 0xd800 && code <= 0xdfff) || code > 0xfffd
    const [, { name }] = read(toJunit(`a${mark}b`, []))
    assert.equal(name, isForbidden ? `a\\u{${code.toString(16)}}b` : `a${mark}b`)
  }
})

test('cases of the same name are told apart, and long texts are cut', () => {
  const xml = toJunit('e1', [{ name: 'core', cases: [failed('x'.repeat(9000), 'same'), failed('y', 'same'), failed('y', 'same')] }])
  const [, , , [suite]] = read(xml)
  const names = suite![3].map(([, { name }]) => name)
  assert.deepEqual(names, ['same', 'same #2', 'same #3'])
  const [, { message }, text] = suite![3][0]![3][0]!
  assert.deepEqual([message!.length, text.length], [200, 4000])
})
