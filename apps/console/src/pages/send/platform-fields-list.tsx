import { Accordion, Group, SimpleGrid, Text, Textarea, TextInput } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { ChoiceInput } from '../../components/choice-input.tsx'
import { choiceLabel, offeredChoices } from '../../i18n/choice-labels.ts'
import { useLabels } from '../../i18n/labels.ts'
import type { Change, Draft } from './draft.ts'
import { platformField } from './fields.ts'
import type { FieldProps } from './form-fields.ts'
import { type PlatformField, platformPart, platforms } from './platform-fields.ts'

type Props = {
  draft: Draft
  change: Change
  field: FieldProps
  opened: string[]
  onOpen(opened: string[]): void
}

export function PlatformFieldsList({ draft, change, field: fieldProps, opened, onOpen }: Props) {
  const { t } = useTranslation()
  const { platform, text } = useLabels()
  return (
    <Accordion multiple order={4} keepMounted={false} value={opened} onChange={onOpen}>
      {platforms.map(({ name, vendor, fields }) => {
        const set = Object.keys(platformPart(name, draft.platforms) ?? {}).length
        return (
          <Accordion.Item key={name} value={name}>
            <Accordion.Control>
              <Group justify="space-between" pr="sm">
                <Text size="sm">{vendor ? text(vendor) : platform(name)}</Text>
                <Text size="xs" c="dimmed">
                  {set === 0 ? t('app.notSet') : t('send.fieldsSet', { n: set })}
                </Text>
              </Group>
            </Accordion.Control>
            <Accordion.Panel>
              <SimpleGrid cols={{ base: 1, xs: 2 }}>
                {fields.map((field) => (
                  <FieldInput
                    key={field.name}
                    {...fieldProps(platformField(name, field.name))}
                    field={field}
                    value={draft.platforms[name]?.[field.name] ?? ''}
                    onChange={(value) =>
                      change({
                        platforms: {
                          ...draft.platforms,
                          [name]: { ...draft.platforms[name], [field.name]: value },
                        },
                      })
                    }
                  />
                ))}
              </SimpleGrid>
            </Accordion.Panel>
          </Accordion.Item>
        )
      })}
    </Accordion>
  )
}

type FieldInputProps = {
  id: string
  error?: string
  field: PlatformField
  value: string
  onChange(value: string): void
}

function FieldInput({ id, error, field, value, onChange }: FieldInputProps) {
  const { text } = useLabels()
  const label = text(field.label)
  switch (field.type) {
    case 'flag':
      return <ChoiceInput id={id} error={error} label={label} value={value} onChange={onChange} />
    case 'choice':
      return (
        <ChoiceInput
          id={id}
          error={error}
          label={label}
          value={value}
          options={withPresent(offeredChoices(field.choices, field.choiceTexts), value)}
          optionText={(option) => choiceLabel(option, field.choiceTexts, text)}
          onChange={onChange}
        />
      )
    case 'list':
    case 'object':
      return (
        <Textarea
          id={id}
          error={error}
          label={label}
          autosize
          minRows={1}
          value={value}
          onChange={({ currentTarget }) => onChange(currentTarget.value)}
        />
      )
    default:
      return (
        <TextInput
          id={id}
          error={error}
          label={label}
          value={value}
          onChange={({ currentTarget }) => onChange(currentTarget.value)}
        />
      )
  }
}

/** A task that is sent again may have a value that is not offered. */
function withPresent(offered: readonly (string | number)[], value: string): readonly (string | number)[] {
  return value === '' || offered.map(String).includes(value) ? offered : [...offered, value]
}
