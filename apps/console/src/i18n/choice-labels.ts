import type { ChoiceTexts, Text } from '@herald/channels/cards'

type Choices = readonly (string | number)[]

/** A choice without a text is another spelling, or one that a message cannot use. */
export function offeredChoices(choices: Choices, texts: ChoiceTexts = {}): Choices {
  return choices.filter((choice) => Object.hasOwn(texts, choice))
}

/** `1 system message`, `HIGH: wakes the device`. */
export function choiceLabel(choice: string, texts: ChoiceTexts = {}, text: (of: Text) => string): string {
  const meaning = texts[choice]
  if (!meaning) return choice
  return /^\d+$/.test(choice) ? `${choice} ${text(meaning)}` : `${choice}: ${text(meaning)}`
}
