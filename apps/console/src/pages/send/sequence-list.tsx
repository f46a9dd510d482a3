import { publicName, type SequenceWord, sequenceWords, upsChannels } from '@herald/domain'
import { ActionIcon, Group, Input, NativeSelect, Paper, Text } from '@mantine/core'
import { IconChevronLeft, IconChevronRight, IconX } from '@tabler/icons-react'
import { useTranslation } from 'react-i18next'
import { useLabels } from '../../i18n/labels.ts'
import { move } from './sequence.ts'

type Props = { id: string; sequence: readonly SequenceWord[]; onChange(sequence: SequenceWord[]): void }

/** The order in which Android channels are tried. Buttons instead of dragging, for use with a keyboard. */
export function SequenceList({ id, sequence, onChange }: Props) {
  const { t } = useTranslation()
  const { channel, format } = useLabels()
  const nameOf = (word: SequenceWord) => (word === 'ups' ? t('send.ups') : channel(publicName(word)))
  const names = format.list(upsChannels.map((name) => channel(publicName(name))))
  const unused = sequenceWords.filter((word) => !sequence.includes(word))
  return (
    <Input.Wrapper
      label={t('send.sequence')}
      labelElement="div"
      description={t('send.sequenceHint', { names })}
    >
      <Group gap="xs" my={4} id={id} tabIndex={-1}>
        {sequence.map((word, index) => {
          const name = nameOf(word)
          return (
            <Paper key={word} withBorder px={6} py={2}>
              <Group gap={2} wrap="nowrap">
                <ActionIcon
                  variant="subtle"
                  className="subtle"
                  size="sm"
                  disabled={index === 0}
                  aria-label={t('send.earlier', { name })}
                  onClick={() => onChange(move(sequence, index, -1))}
                >
                  <IconChevronLeft size={14} aria-hidden />
                </ActionIcon>
                <Text size="sm">{`${index + 1}. ${name}`}</Text>
                <ActionIcon
                  variant="subtle"
                  className="subtle"
                  size="sm"
                  disabled={index === sequence.length - 1}
                  aria-label={t('send.later', { name })}
                  onClick={() => onChange(move(sequence, index, 1))}
                >
                  <IconChevronRight size={14} aria-hidden />
                </ActionIcon>
                <ActionIcon
                  variant="subtle"
                  className="subtle"
                  color="gray"
                  size="sm"
                  disabled={sequence.length === 1}
                  aria-label={t('send.remove', { name })}
                  onClick={() => onChange(sequence.filter((other) => other !== word))}
                >
                  <IconX size={14} aria-hidden />
                </ActionIcon>
              </Group>
            </Paper>
          )
        })}
        {unused.length > 0 && (
          <NativeSelect
            size="xs"
            aria-label={t('send.addChannel')}
            value=""
            onChange={({ currentTarget }) => onChange([...sequence, currentTarget.value as SequenceWord])}
            data={[
              { value: '', label: t('send.addChannel'), disabled: true },
              ...unused.map((value) => ({ value, label: nameOf(value) })),
            ]}
          />
        )}
      </Group>
    </Input.Wrapper>
  )
}
