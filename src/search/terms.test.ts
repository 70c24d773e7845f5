import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadQuestions } from '../../test/retrieval/question-set.ts'
import { isEnglish } from './terms.ts'

test('English texts, names and codes are told from other languages', () => {
  const english = [
    'How many days of leave do I have?',
    'parking',
    'Espresso Duo',
    'INV-2041',
    '',
    '42',
    'Where is Zürich?',
    'travel policy',
  ]
  for (const text of english) assert.equal(isEnglish(text), true, text)
  const others = [
    'Wie viele Urlaubstage habe ich?',
    'Combien de jours de congé ai-je par an ?',
    '¿Cuántos días de vacaciones tengo?',
    'Quanti giorni di ferie ho?',
    'Quantos dias de férias eu tenho?',
    'Hoeveel vakantiedagen heb ik?',
    'Hur många semesterdagar har jag?',
    'Ile dni urlopu mam i kto to zatwierdza?',
    'Сколько у меня дней отпуска?',
    '有給休暇は何日ありますか',
    'كم يوم إجازة لدي؟',
  ]
  for (const text of others) assert.equal(isEnglish(text), false, text)
})

test('no more than two in a hundred English questions are taken for another language, and no question in another language for English', () => {
  const questions = loadQuestions().filter(({ split }) => split === 'held-out')
  const english = questions.filter(({ kind }) => kind !== 'other-languages')
  const mistaken = english.filter(({ text }) => !isEnglish(text)).map(({ text }) => text)
  assert.ok(mistaken.length <= english.length * 0.02, mistaken.join('\n'))
  assert.deepEqual(
    questions.filter(({ kind, text }) => kind === 'other-languages' && isEnglish(text)).map(({ text }) => text),
    [],
  )
})
