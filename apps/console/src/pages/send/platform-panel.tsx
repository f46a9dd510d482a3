import { Accordion, Group, SimpleGrid, Text, TextInput } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { ChoiceInput } from '../../parts/choice-input.tsx'
import { Panel } from '../../parts/panel.tsx'
import { useWords } from '../../parts/words.ts'
import type { Change, Draft } from './draft.ts'
import {
  fieldsOf,
  type PlatformField,
  type PlatformName,
  platformNames,
  platformPart,
} from './platform-fields.ts'

type Props = { draft: Draft; change: Change }

/** What differs by platform and vendor, folded away until it is wanted. */
export function PlatformPanel({ draft, change }: Props) {
  const { t } = useTranslation()
  const { channel, platform } = useWords()
  const nameOf = (name: PlatformName) =>
    name === 'ios' || name === 'android' ? platform(name) : channel(name)
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
        {platformNames.map((name) => {
          const set = Object.keys(platformPart(name, draft.platforms) ?? {}).length
          return (
            <Accordion.Item key={name} value={name}>
              <Accordion.Control>
                <Group justify="space-between" pr="sm">
                  <Text size="sm">{nameOf(name)}</Text>
                  <Text size="xs" c="dimmed">
                    {set === 0 ? t('app.notSet') : t('send.fieldsSet', { n: set })}
                  </Text>
                </Group>
              </Accordion.Control>
              <Accordion.Panel>
                <SimpleGrid cols={{ base: 1, xs: 2 }}>
                  {fieldsOf(name).map((field) => (
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
  const { t } = useTranslation()
  const label = t(`field.${field.name}`)
  if (field.kind === 'text')
    return (
      <TextInput
        label={label}
        value={value}
        onChange={({ currentTarget }) => onChange(currentTarget.value)}
      />
    )
  return <ChoiceInput label={label} value={value} options={field.options} onChange={onChange} />
}
