import { Accordion, Group, SimpleGrid, Text, Textarea, TextInput } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { ChoiceInput } from '../../components/choice-input.tsx'
import { Panel } from '../../components/panel.tsx'
import { useLabels } from '../../i18n/labels.ts'
import type { Change, Draft } from './draft.ts'
import { type PlatformField, platformPart, platforms } from './platform-fields.ts'

type Props = { draft: Draft; change: Change }

export function PlatformPanel({ draft, change }: Props) {
  const { t } = useTranslation()
  const { platform, text } = useLabels()
  return (
    <Panel
      title={t('send.platforms')}
      aside={
        <Text size="sm" c="dimmed">
          {t('send.platformHint')}
        </Text>
      }
    >
      <Accordion multiple order={3} keepMounted={false}>
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
    </Panel>
  )
}

type FieldProps = { field: PlatformField; value: string; onChange(value: string): void }

function FieldInput({ field, value, onChange }: FieldProps) {
  const label = useLabels().text(field.label)
  switch (field.type) {
    case 'flag':
      return <ChoiceInput label={label} value={value} onChange={onChange} />
    case 'choice':
      return <ChoiceInput label={label} value={value} options={field.choices} onChange={onChange} />
    case 'list':
    case 'object':
      return (
        <Textarea
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
          label={label}
          value={value}
          onChange={({ currentTarget }) => onChange(currentTarget.value)}
        />
      )
  }
}
