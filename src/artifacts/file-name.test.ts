import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toFileName } from './file-name.ts'

test('a plain name stays as it is', () => {
  for (const name of ['report.md', 'Umsätze 2024.csv', '売上.tsv', 'a-b_c (1).tar.gz', 'نتيجة.txt']) assert.equal(toFileName(name), name)
})

test('folders are dropped in every notation', () => {
  for (const name of ['../../etc/report.md', '/etc/report.md', 'C:\\temp\\report.md', './report.md', 'report.md/', 'report.md/..']) {
    assert.equal(toFileName(name), 'report.md', name)
  }
})

test('names that hide, mislead or name a device are changed', () => {
  assert.equal(toFileName('.bashrc'), 'bashrc')
  assert.equal(toFileName('...'), 'file')
  assert.equal(toFileName('report.md. . '), 'report.md')
  assert.equal(toFileName('a\r\nset-cookie: b\0.txt'), 'aset-cookie_ b.txt')
  assert.equal(toFileName('invoice\u202efdp.exe'), 'invoicefdp.exe')
  assert.equal(toFileName('\u200b\ufeff'), 'file')
  assert.equal(toFileName('con.txt'), '_con.txt')
  assert.equal(toFileName('LPT1'), '_LPT1')
  assert.equal(toFileName('console.txt'), 'console.txt')
  assert.equal(toFileName('a<b>"c"|d?*.txt'), 'a_b__c__d__.txt')
  assert.equal(toFileName('\ud800.txt'), '\ufffd.txt')
  for (const name of ['', ' ', '/', '\\', '..', '.', '../..']) assert.equal(toFileName(name), 'file', name)
})

test('a long name is cut between characters and keeps its extension', () => {
  const cut = toFileName(`${'é😀'.repeat(100)}.csv`)
  assert.ok(Buffer.byteLength(cut) <= 200 && Buffer.byteLength(cut) > 190)
  assert.ok(cut.endsWith('.csv') && cut.isWellFormed())
  assert.equal(toFileName(`a.${'b'.repeat(300)}`).length, 200)
})
