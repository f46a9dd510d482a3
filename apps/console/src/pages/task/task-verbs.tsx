import type { TaskView } from '@herald/client'
import { Button, Group, Stack } from '@mantine/core'
import { IconPlayerPause, IconPlayerPlay, IconPlayerStop } from '@tabler/icons-react'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { controlTask, type TaskVerb } from '../../api/calls.ts'
import { useAppId } from '../../app/session.ts'
import { verbsOf } from '../../figures/task-progress.ts'
import { Confirm } from '../../parts/confirm.tsx'
import { Problem } from '../../parts/problem.tsx'

const icons = { pause: IconPlayerPause, resume: IconPlayerPlay, cancel: IconPlayerStop }

/** Pause, resume and stop, as far as the task's state allows. */
export function TaskVerbs({ task }: { task: TaskView }) {
  const { t } = useTranslation()
  const appId = useAppId()
  const queries = useQueryClient()
  const [asking, setAsking] = useState(false)
  const changing = useMutation({
    mutationFn: (verb: TaskVerb) => controlTask(appId, verb, Number(task.task_id)),
    onSettled: async () => {
      setAsking(false)
      await queries.invalidateQueries({ queryKey: ['task', appId] })
    },
  })
  return (
    <Stack align="flex-end" gap="xs">
      {changing.isError && <Problem error={changing.error} />}
      <Group gap="xs">
        {verbsOf(task).map((verb) => {
          const Icon = icons[verb]
          return (
            <Button
              key={verb}
              variant="default"
              leftSection={<Icon size={16} aria-hidden />}
              loading={changing.isPending && changing.variables === verb}
              onClick={() => (verb === 'cancel' ? setAsking(true) : changing.mutate(verb))}
            >
              {t(`task.${verb}`)}
            </Button>
          )
        })}
      </Group>
      <Confirm
        opened={asking}
        danger
        title={t('task.cancelTitle')}
        text={t('task.cancelText')}
        button={t('task.cancelButton')}
        busy={changing.isPending}
        onConfirm={() => changing.mutate('cancel')}
        onClose={() => setAsking(false)}
      />
    </Stack>
  )
}
