import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mergeYaml } from './merge-yaml.ts'
import { parsePage } from './page.ts'

/** Fences are written with ~~~ in this file. */
const parse = (text: string) => parsePage(text.replaceAll('~~~', '```'), 'p.md')

test('a page: blocks with their lines, hidden commands, attributes', () => {
  const page = parse(`---
title: T
needs: [postgres]
env: {LIMIT: 5}
---
# T

<!-- setup
mkdir x
-->

1. First

   ~~~sh fails
   ls nowhere
   ~~~

::: tip
~~~text output {1} [Terminal]
...
~~~
:::
~~~yaml file=a.yaml skip="needs a cluster"
a: 1
~~~`)
  assert.deepEqual(
    page.blocks.map(({ line, action, content, file, skip, mustFail, isHidden }) => ({
      line,
      action,
      content,
      file,
      skip,
      mustFail,
      isHidden,
    })),
    [
      { line: 9, action: 'run', content: 'mkdir x\n', file: undefined, skip: undefined, mustFail: false, isHidden: true },
      { line: 15, action: 'run', content: 'ls nowhere', file: undefined, skip: undefined, mustFail: true, isHidden: false },
      { line: 20, action: 'compare', content: '...', file: undefined, skip: undefined, mustFail: false, isHidden: false },
      { line: 24, action: 'parse', content: 'a: 1', file: 'a.yaml', skip: 'needs a cluster', mustFail: false, isHidden: false },
    ],
  )
  assert.deepEqual(page.environment, { LIMIT: '5' })
  assert.deepEqual(page.needs, ['postgres'])
  assert.equal(page.needsService, true)
})

test('a page without commands, or with `service: none`, starts no service', () => {
  assert.equal(parse('~~~json\n{}\n~~~').needsService, false)
  assert.equal(parse('---\nservice: none\n---\n~~~sh\nls\n~~~').needsService, false)
})

test('a block that breaks the rules is named by its place', () => {
  assert.throws(() => parse('# T\n~~~\nx\n~~~'), /p\.md:2 {2}The block names no language/)
  assert.throws(() => parse('~~~sh skipped="why"\nx\n~~~'), /p\.md:1 {2}"skipped="why"" is not an attribute\. Known: output, /)
  assert.throws(() => parse('~~~sh skip\nx\n~~~'), /`skip` needs a reason/)
  assert.throws(() => parse('~~~yaml merge=\nx\n~~~'), /need a file name/)
})

test('a merge goes into maps, and into tools by their name; comments stay', () => {
  const text = '# mine\nname: a\ntools:\n  - name: x # the first\n    config: {a: 1}\n  - name: y\nlist: [1, 2]\n'
  const fragment = 'name: b\ntools:\n  - name: x\n    config: {b: 2}\n  - name: z\nlist: [3]\nmore: {c: 1}\n'
  assert.equal(
    mergeYaml(text, fragment),
    '# mine\nname: b\ntools:\n  - name: x # the first\n    config: { a: 1, b: 2 }\n  - name: y\n  - name: z\nlist: [ 3 ]\nmore: { c: 1 }\n',
  )
  assert.throws(() => mergeYaml(text, '- a'), /must be a map/)
})
